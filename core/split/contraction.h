// Contraction: the graph with every fusion group as one unit. Passes treat a unit as one node,
// without the quadratic edges between all members and all they depend on.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/graph/graph.h"
#include "core/split/fusion.h"

namespace cleave {

// A unit is a group, or a node that is in no group. Units are numbered by their first node.
class Contraction {
 public:
  Contraction(const Graph& graph, const Fusions& fusions);

  std::size_t unit_count() const { return first_.size(); }
  std::uint32_t unit_of(NodeId node) const { return unit_of_[node]; }
  bool is_group(std::uint32_t unit) const {
    return fusions_.group_of[first_[unit]] != kNone<GroupId>;
  }
  // The nodes of a unit, in model order.
  std::span<const NodeId> nodes(std::uint32_t unit) const;
  NodeId first(std::uint32_t unit) const { return first_[unit]; }

 private:
  const Fusions& fusions_;
  PerNode<std::uint32_t> unit_of_;
  std::vector<NodeId> first_;
};

}  // namespace cleave
