// Topological order of nodes, stable: of those that are ready, the one first in the source goes
// first.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/adjacency.h"

namespace cleave {

struct TopologicalOrder {
  std::vector<std::uint32_t> order;  // all nodes; only some when there is a cycle
  std::vector<std::uint32_t> cycle;  // each one waits for the one before it, the first for the last
};

// `waits_for`: for each node the nodes that it waits for. O(edges + nodes log nodes).
TopologicalOrder topological_order(const Adjacency& waits_for);

}  // namespace cleave
