// Fusion finder: groups of nodes that exchange non-tensor data and so must stay together.
//
// A node is *tensor-free* when none of its outputs holds a tensor (a size, an int, a list of ints).
// A fusion group is the smallest set that holds a tensor-free accelerator node and is closed under
// users of a tensor-free member, tensor-free producers of a member, and every node on a path
// between two members (the group is convex). Groups that share a node, or depend on each other in a
// cycle, are merged.
//
//   x -> size -> view      {size, mul, view} is one group, and so is anything on a path
//    \-> mul ----^         from one of its members to another
//
// A group with a member outside the accelerator set is dissolved: its members leave the set.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/graph/graph.h"
#include "core/split/acc_finder.h"
#include "core/split/options.h"

namespace cleave {

// Groups are on the accelerator, but for those of core/split/node_ties.h.
struct Fusions {
  PerNode<GroupId> group_of;  // kNone: in no group
  std::vector<std::uint32_t> member_begin;
  std::vector<NodeId> members;  // of group g: [member_begin[g], member_begin[g+1]), model order
  AccNodes acc;                 // the remaining accelerator set, with all reasons so far

  std::size_t group_count() const { return member_begin.empty() ? 0 : member_begin.size() - 1; }
  std::span<const NodeId> group(GroupId id) const {
    const std::uint32_t first = member_begin[index(id)];
    return std::span(members).subspan(first, member_begin[index(id) + 1] - first);
  }
};

// Groups are numbered by their first member. Linear per round of closing; rounds are few, since
// each merges groups. Method: FX splitter, FxNetAccFusionsFinder, with union-find and strongly
// connected components of the contracted graph instead of its quadratic search.
Fusions find_fusions(const Graph& graph, AccNodes acc, const SplitOptions& options);

// Contraction: the graph with every fusion group as one unit. Passes treat a unit as one node,
// without the quadratic edges between all members and all they depend on.

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
