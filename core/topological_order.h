// Topological order of nodes, stable: of those that are ready, the one first in the source goes
// first.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace cleave {

// For each node the nodes that it waits for, as CSR; one may stand there more than once.
struct WaitsFor {
  std::vector<std::uint32_t> begin;  // one more than there are nodes
  std::vector<std::uint32_t> nodes;

  std::size_t node_count() const { return begin.size() - 1; }
  std::span<const std::uint32_t> of(std::uint32_t node) const {
    return std::span(nodes).subspan(begin[node], begin[node + 1] - begin[node]);
  }
};

struct TopologicalOrder {
  std::vector<std::uint32_t> order;  // all nodes; only some when there is a cycle
  std::vector<std::uint32_t> cycle;  // each one waits for the one before it, the first for the last
};

// O(edges + nodes log nodes).
TopologicalOrder topological_order(const WaitsFor& waits_for);

}  // namespace cleave
