// How: (1) union-find ties every tensor-free node to its readers: the ties are symmetric, since a
// tensor-free member takes its readers along and a member takes its tensor-free producers along.
// (2) A tied set with a tensor-free node of the accelerator set is a group, "live". In the graph
// with live groups contracted to points, a strongly connected component of more than one point is a
// group that is not convex, or groups that depend on each other in a circle: it becomes one group,
// and what is tied to the nodes that came in comes along. Repeat until nothing changes. (3) Groups
// with a member outside the set dissolve.
#include "core/fusion.h"

#include <numeric>
#include <utility>

#include "core/adjacency.h"

namespace cleave {
namespace {

// Nodes tied together; the representative is the least of them.
class Ties {
 public:
  explicit Ties(std::size_t count) : parent_(count), size_(count, 1) {
    std::iota(parent_.begin(), parent_.end(), 0U);
  }
  std::uint32_t find(std::uint32_t i) {
    while (parent_[i] != i) {
      parent_[i] = parent_[parent_[i]];
      i = parent_[i];
    }
    return i;
  }
  void tie(std::uint32_t a, std::uint32_t b) {
    a = find(a);
    b = find(b);
    if (a == b) return;
    if (b < a) std::swap(a, b);
    parent_[b] = a;
    size_[a] += size_[b];
  }
  // True when the node is tied to another.
  bool is_tied(std::uint32_t i) { return size_[find(i)] > 1; }

 private:
  std::vector<std::uint32_t> parent_;
  std::vector<std::uint32_t> size_;  // of a representative's set
};

class FusionFinder {
 public:
  FusionFinder(const Graph& graph, AccNodes acc)
      : graph_(graph), acc_(std::move(acc)), ties_(graph.node_count()), live_(graph.node_count()) {}

  Fusions run() && {
    if (tie_tensor_free_nodes()) {
      while (merge_circles()) {
      }
    }
    return collect();
  }

 private:
  bool is_tensor_free(NodeId node) const {
    const auto outputs = graph_.outputs(node);
    for (const ValueId value : outputs) {
      if (graph_.value(value).holds_tensor) return false;
    }
    return !outputs.empty();
  }

  // Step 1. False when there is no live group.
  bool tie_tensor_free_nodes() {
    std::vector<NodeId> seeds;
    for (const NodeId node : graph_.nodes()) {
      if (!is_tensor_free(node)) continue;
      for (const NodeId reader : graph_.readers(node)) ties_.tie(index(node), index(reader));
      if (acc_.nodes.contains(node)) seeds.push_back(node);
    }
    for (const NodeId seed : seeds) live_.insert(id_at<NodeId>(ties_.find(index(seed))));
    return !seeds.empty();
  }

  // The point that a node is contracted to: its group's representative, or itself.
  std::uint32_t point_of(NodeId node) {
    const std::uint32_t root = ties_.find(index(node));
    return live_.contains(NodeId{root}) ? root : index(node);
  }

  // Step 2, one round: true when nodes came along that no circle held, since there may be new
  // circles then. Without them there are none: what is left of the graph between components has no
  // circle.
  bool merge_circles() {
    std::vector<std::uint32_t> point(graph_.node_count());
    for (const NodeId node : graph_.nodes()) point[index(node)] = point_of(node);
    const Components components = strongly_connected_components(contracted(point));
    std::vector<std::uint32_t> first(components.count, index(kNone<NodeId>));
    bool brought_others = false;
    for (const NodeId node : graph_.nodes()) {
      const std::uint32_t at = point[index(node)];
      std::uint32_t& known = first[components.of[at]];
      if (known == index(kNone<NodeId>)) known = at;
      if (known == at) continue;
      brought_others = brought_others || brings_others(known) || brings_others(at);
      ties_.tie(known, at);
      grown_.push_back(known);
    }
    // A circle goes through a live group, since without groups the graph has none.
    for (const std::uint32_t node : grown_) live_.insert(NodeId{ties_.find(node)});
    grown_.clear();
    return brought_others;
  }

  // True of a node in no group that is tied to others, which join a group with it.
  bool brings_others(std::uint32_t node) {
    return ties_.is_tied(node) && !live_.contains(NodeId{ties_.find(node)});
  }

  // Edges between points; points that are no node of their own have no edges.
  Adjacency contracted(const std::vector<std::uint32_t>& point) const {
    const Adjacency members = members_of(point, point.size());
    Adjacency edges;
    edges.begin.reserve(point.size() + 1);
    edges.items.reserve(graph_.edge_count());
    for (std::uint32_t at = 0; at < point.size(); ++at) {
      for (const std::uint32_t member : members.of(at)) {
        for (const NodeId reader : graph_.readers(NodeId{member})) {
          const std::uint32_t to = point[index(reader)];
          if (to != at) edges.add(to);
        }
      }
      edges.end_list();
    }
    return edges;
  }

  // Step 3.
  Fusions collect() {
    Fusions result;
    result.group_of = PerNode<GroupId>(graph_.node_count(), kNone<GroupId>);
    result.member_begin.push_back(0);
    if (live_.count() != 0) {
      std::vector<std::uint32_t> root(graph_.node_count());
      for (const NodeId node : graph_.nodes()) root[index(node)] = ties_.find(index(node));
      const Adjacency members = members_of(root, root.size());
      for (const NodeId node : graph_.nodes()) {  // representatives are first members
        if (live_.contains(node) && root[index(node)] == index(node)) {
          settle(members.of(index(node)), result);
        }
      }
    }
    result.acc = std::move(acc_);
    return result;
  }

  // Makes the members a group, or takes them off the accelerator when one of them is not on it.
  void settle(std::span<const std::uint32_t> members, Fusions& result) {
    NodeId outside = kNone<NodeId>;
    for (const std::uint32_t member : members) {
      if (acc_.nodes.contains(NodeId{member})) continue;
      outside = NodeId{member};
      break;
    }
    const auto group = id_at<GroupId>(result.group_count());
    for (const std::uint32_t member : members) {
      const NodeId node{member};
      if (outside == kNone<NodeId>) {
        result.group_of[node] = group;
        result.members.push_back(node);
      } else if (acc_.nodes.erase(node)) {
        acc_.reasons[node] = {.code = ReasonCode::fusion_group, .because = outside};
      }
    }
    if (outside == kNone<NodeId>) {
      result.member_begin.push_back(static_cast<std::uint32_t>(result.members.size()));
    }
  }

  const Graph& graph_;
  AccNodes acc_;
  Ties ties_;
  NodeSet
      live_;  // representatives of groups; entries that are no representatives any more may stay
  std::vector<std::uint32_t> grown_;
};

}  // namespace

Fusions find_fusions(const Graph& graph, AccNodes acc, const FusionOptions& options) {
  if (!options.skip) return FusionFinder(graph, std::move(acc)).run();
  Fusions result;
  result.group_of = PerNode<GroupId>(graph.node_count(), kNone<GroupId>);
  result.member_begin.push_back(0);
  result.acc = std::move(acc);
  return result;
}

}  // namespace cleave
