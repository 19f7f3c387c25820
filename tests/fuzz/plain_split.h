// The whole split a second time, by the plain passes of tests/core/plain_passes.h.
#pragma once

#include <optional>
#include <vector>

#include "core/split/options.h"
#include "tests/core/split/plain_passes.h"

namespace cleave::fuzz {

struct PlainSplit {
  plain::Nodes acc_found;  // after the acc finder
  plain::Fusions fusions;
  std::vector<plain::Subgraph> found;      // before small ones were merged
  std::vector<plain::Subgraph> subgraphs;  // at the end; extended ones may be empty
};

// Nothing when the options ask for what the plain passes do not have (Q/DQ groups, shape
// computations that follow, a number of subgraphs to keep), or for a subgraph that is not there.
std::optional<PlainSplit> plain_split(const Graph& graph, const plain::Nodes& supported,
                                      const SplitOptions& options);

}  // namespace cleave::fuzz
