// Op types of many nodes, for drawings that do not show single nodes.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/graph/graph.h"

namespace cleave {

struct OpCount {
  NameId op;
  std::size_t count;
};

// The most frequent first, then by name. O(n log n).
std::vector<OpCount> count_ops(const Graph& graph, std::span<const NodeId> nodes);

// "19 Conv2d, 16 ReLU, 4 other op types": names at most `most` of them.
std::string ops_line(const Graph& graph, const std::vector<OpCount>& ops, std::size_t most);

}  // namespace cleave
