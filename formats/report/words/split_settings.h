// The settings of a split in words, and what differs between two of them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/split/options.h"

namespace cleave {

// "reference", "cpu", "acc", "fewest"
std::string_view start_side_name(StartSide side);

// "flops", "time", "nodes"
std::string_view keep_by_name(KeepBy by);

// "none", "all", "auto", or the number of the subgraph.
std::string extend_text(const ExtendOptions& options);

// What differs between two settings of a split: `start: cpu, was acc`. Prefixes are left out.
std::vector<std::string> changed_settings(const SplitOptions& before, const SplitOptions& now);

}  // namespace cleave
