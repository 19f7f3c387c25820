// A stable topological order of nodes: of the nodes that are ready, the first in the source goes
// first.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/adjacency.h"

namespace cleave {

struct TopologicalOrder {
  std::vector<std::uint32_t> order;  // all nodes; fewer when there is a cycle
  std::vector<std::uint32_t> cycle;  // each waits for the one before it, the first for the last
};

// `waits_for` lists for each node the nodes that it waits for. O(edges + nodes log nodes).
TopologicalOrder topological_order(const Adjacency& waits_for);

}  // namespace cleave
