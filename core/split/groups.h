// Groups: nodes that move as one, by fusion, ties, or a list's word.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/min_cut.h"
#include "core/graph/graph.h"
#include "core/lists/support.h"
#include "core/split/options.h"

namespace cleave {

// ---- acc finder ----
//
// Acc finder: which of the supported nodes can really run on the accelerator.
//
// Non-tensor data must not cross between accelerator and CPU. So a supported node goes to the CPU
// when it reads a non-tensor made by a CPU node, or makes a non-tensor that a CPU node (or the
// graph's output) reads. Its neighbours are then judged again.
//
//   size (acc) -> int arithmetic (CPU)      =>  size goes to the CPU   (non_tensor_output)
//   item (CPU) -> full (acc)                =>  full goes to the CPU   (non_tensor_input)

struct AccNodes {
  NodeSet nodes;
  PerNode<Reason> reasons;  // of every node not in `nodes`
};

// Linear: each node is dropped at most once, and its operands and users are visited a constant
// number of times. Method: FX splitter, FxNetAccNodesFinder, with a worklist and counters instead
// of rescans.
// `sizes`: shape computations that go where they are used (--host-shapes): what they make may cross, as the host has
// it; null: there are none.
AccNodes find_acc_nodes(const Graph& graph, const Support& support, const SplitOptions& options,
                        const NodeSet* sizes = nullptr);

// ---- fusion ----
//
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

// Groups are on the accelerator, but for those that keep_sets_whole() adds.
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
// `sizes`: as above; they tie nothing.
Fusions find_fusions(const Graph& graph, AccNodes acc, const SplitOptions& options,
                     const NodeSet* sizes = nullptr);

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

// ---- node groups ----
//
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

// What is kept together besides nodes that exchange non-tensor data.
struct Whole {
  const struct QdqGroups& qdq_groups;
  const PatternMatches& patterns;
  const NodeSet* sizes = nullptr;  // as find_fusions() takes them
};

// All groups that must stay together, among the nodes that may run on the accelerator: fusion
// groups, then Q/DQ groups, then the matches of patterns. A group counts only if all its nodes stay.
Fusions find_groups(const Graph& graph, AccNodes acc, const Whole& whole,
                    const SplitOptions& options);

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
