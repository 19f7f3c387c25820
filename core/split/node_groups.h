// Node groups: completes groups of nodes that must stay together. The caller ties nodes and says
// which tied sets are groups. The result is the smallest groups that contain them, are convex, and
// do not depend on each other in a cycle, so that each can be treated as one node.
//
//   a -> b -> c   with {a c} a group: b is on a path between members, so it joins
//
// How: union-find for the ties. In the graph with groups contracted to points, a strongly connected
// component of more than one point is a group that is not convex, or several groups that depend on
// each other in a cycle. It becomes one group, with everything tied to the nodes that joined.
// Repeat until nothing changes.
//
// Edges go to later nodes, and only a group leads back, from a member to an earlier one. So a cycle
// lies between the first and the last member of some group, and only nodes there are examined.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/adjacency.h"
#include "core/graph/graph.h"
#include "core/pattern/qdq_groups.h"
#include "core/split/fusion.h"
#include "core/support/list_patterns.h"

namespace cleave {

class NodeGroups {
 public:
  explicit NodeGroups(const Graph& graph);

  // A group with one of them contains the other, too.
  void tie(NodeId one, NodeId other);
  // Makes the set that the node is tied to a group.
  void make_group(NodeId member);
  // Both, of members that may be none.
  void add_group(std::span<const NodeId> members);

  enum class Incomplete { dissolve, keep };
  // Returns the groups that `acc` contains completely, ordered by first member. Members of other
  // groups leave `acc`, with the reason `code` and their first member that was not in `acc`; with
  // `keep` these are groups of the result, too. Linear per round of closing; rounds are few, since
  // each merges groups.
  Fusions settle(AccNodes acc, ReasonCode code, Incomplete incomplete = Incomplete::dissolve) &&;
  // All groups, of all nodes.
  Fusions settle_all() &&;

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
  bool merge_cycles();
  void close();
  struct Group {
    std::uint32_t size;
    NodeId outside = kNone<NodeId>;  // the first member that is not on the accelerator
    GroupId id = kNone<GroupId>;     // kNone: not complete in `acc`
    std::uint32_t filled = 0;        // where its next member goes
  };
  std::vector<Group> gather(Fusions& result);

  const Graph& graph_;
  std::vector<std::uint32_t> parent_;  // union-find; the representative is the least of its set
  std::vector<std::uint32_t> size_;    // of a representative's set
  std::vector<NodeId> seeds_;
  NodeSet live_;  // representatives of groups; entries that are no longer representatives may stay
};

// The groups of `fusions` merged with further sets of nodes that must stay together, and what is then
// left of the accelerator set: members of a group with a CPU node leave it, with the reason `code`.
// The nodes of set i are sets.nodes from sets.begin[i] on.
struct NodeLists {
  std::span<const std::uint32_t> begin;
  std::span<const NodeId> nodes;
};
Fusions keep_together(const Graph& graph, const NodeLists& sets, Fusions fusions, ReasonCode code);

// What is kept together besides nodes that exchange non-tensor data.
struct Whole {
  const struct QdqGroups& qdq_groups;
  const PatternMatches& patterns;
};

// All groups that must stay together, among the nodes that may run on the accelerator: fusion
// groups, then Q/DQ groups, then the matches of patterns. A group counts only if all its nodes stay.
Fusions find_groups(const Graph& graph, AccNodes acc, const Whole& whole,
                    const SplitOptions& options);

// A result without groups; `acc` is unchanged.
Fusions without_groups(const Graph& graph, AccNodes acc);

// Q/DQ groups with chains for --keep-qdq, of operators alone for lists that ask for it, else none.
QdqGroups qdq_groups_asked_for(const Graph& graph, const SplitOptions& options,
                               std::span<const SupportList> lists);

// The fusion groups merged with these, and what is then left of the accelerator set (reason
// `qdq_group`, with the CPU node to blame). Groups that share a member (a DQ that two operators
// read) become one. Each is made convex and free of cycles with others. One with a node on the CPU
// is dissolved: its members leave the accelerator set. Members leave after the acc finder has run: non-tensor
// data that holds a tensor may cross then, which reports list as a hazard.
Fusions keep_qdq_groups(const Graph& graph, const QdqGroups& groups, Fusions fusions);

}  // namespace cleave
