// Describes hazards at the boundaries of partitions, and the options that remove them.
#pragma once

#include <string>

#include "core/graph/graph.h"
#include "core/measures/preview.h"

namespace cleave {

// One line: `input "n" is a tuple: lowering may stumble over it`; `bytes of "x" float32[N, 3] are
// not known: give --dim N=SIZE`.
std::string hazard_text(const Graph& graph, const Hazard& hazard);

// What makes the size of a tensor known: the option `--dim N=SIZE`, or advice if no option does.
std::string size_mend(const Graph& graph, ValueId value);

// `--dim N=SIZE --dim M=SIZE` for the named dims of the graph's inputs; at most five.
std::string dim_options(const Graph& graph);

}  // namespace cleave
