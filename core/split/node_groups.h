// Node groups: nodes that must stay together, made whole. The caller ties nodes and says which tied
// sets are groups; what comes back are the least groups that hold them, are convex, and do not
// depend on each other in a circle, so that each can be treated as one node.
//
//   a -> b -> c   with {a c} a group: b stands on a path between members, so it joins
//
// How: union-find for the ties. In the graph with groups contracted to points, a strongly connected
// component of more than one point is a group that is not convex, or groups that depend on each
// other in a circle: it becomes one group, and what is tied to the nodes that came in comes along.
// Repeat until nothing changes.
//
// Edges go to later nodes, and only from a group's member to an earlier one is there a way back: so
// a circle stays between the first and the last member of some group, and only nodes that stand
// there are looked at.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/adjacency.h"
#include "core/graph/graph.h"
#include "core/split/fusion.h"

namespace cleave {

class NodeGroups {
 public:
  explicit NodeGroups(const Graph& graph);

  // Where one of them is in a group the other is, too.
  void tie(NodeId one, NodeId other);
  // The set that the node is tied into is a group.
  void make_group(NodeId member);

  // The groups, by their first member, those that `acc` holds whole; of the others the members
  // leave `acc`, for `code` and the first member that was not in it. Linear for each round of
  // closing, and rounds are few: each joins groups.
  Fusions settle(AccNodes acc, ReasonCode code) &&;

 private:
  std::uint32_t find(std::uint32_t node);
  void tie(std::uint32_t one, std::uint32_t other);
  bool is_tied(std::uint32_t node) { return size_[find(node)] > 1; }
  bool is_in_group(std::uint32_t node) { return live_.contains(NodeId{find(node)}); }
  bool brings_others(std::uint32_t node) { return is_tied(node) && !is_in_group(node); }
  std::vector<std::uint32_t> nodes_between_members();
  Adjacency contracted(const std::vector<std::uint32_t>& nodes,
                       const std::vector<std::uint32_t>& points,
                       const std::vector<std::uint32_t>& place) const;
  bool merge_circles();
  void close();
  struct Group {
    std::uint32_t size;
    NodeId outside = kNone<NodeId>;  // the first member that is not on the accelerator
    GroupId id = kNone<GroupId>;     // none: it is not whole
    std::uint32_t filled = 0;        // where its next member goes
  };
  std::vector<Group> gather(Fusions& result);

  const Graph& graph_;
  std::vector<std::uint32_t> parent_;  // union-find; the representative is the least of its set
  std::vector<std::uint32_t> size_;    // of a representative's set
  std::vector<NodeId> seeds_;
  NodeSet live_;  // representatives of groups; entries that represent none any more may stay
};

// No groups; `acc` as it is.
Fusions without_groups(const Graph& graph, AccNodes acc);

}  // namespace cleave
