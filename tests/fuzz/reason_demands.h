// Reasons, checked against the graph: what each names must exist and be true.
#pragma once

#include <vector>

#include "core/split/split.h"

namespace cleave::fuzz {

// Every node on the CPU has a reason that is true, every node on the accelerator has none.
void demand_good_reasons(const Graph& graph, const Split& split,
                         const std::vector<SupportList>& lists, const SplitOptions& options);

}  // namespace cleave::fuzz
