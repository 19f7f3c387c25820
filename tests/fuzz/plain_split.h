// The whole split a second time, by the plain passes of tests/core/split/plain_passes.h.
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

// nullopt when the options ask for features that the plain passes lack (Q/DQ groups, host shapes, a
// limit on subgraphs), or for a subgraph that does not exist.
std::optional<PlainSplit> plain_split(const Graph& graph, const plain::Nodes& supported,
                                      const SplitOptions& options);

}  // namespace cleave::fuzz
