#include "core/node_groups.h"

#include <numeric>
#include <utility>

namespace cleave {
namespace {

// Makes the members a group, or takes them off the accelerator when one of them is not on it.
void settle_group(std::span<const std::uint32_t> members, ReasonCode code, Fusions& result) {
  AccNodes& acc = result.acc;
  NodeId outside = kNone<NodeId>;
  for (const std::uint32_t member : members) {
    if (acc.nodes.contains(NodeId{member})) continue;
    outside = NodeId{member};
    break;
  }
  const auto group = id_at<GroupId>(result.group_count());
  for (const std::uint32_t member : members) {
    const NodeId node{member};
    if (outside == kNone<NodeId>) {
      result.group_of[node] = group;
      result.members.push_back(node);
    } else if (acc.nodes.erase(node)) {
      acc.reasons[node] = {.code = code, .because = outside};
    }
  }
  if (outside == kNone<NodeId>) {
    result.member_begin.push_back(static_cast<std::uint32_t>(result.members.size()));
  }
}

}  // namespace

NodeGroups::NodeGroups(const Graph& graph)
    : graph_(graph),
      parent_(graph.node_count()),
      size_(graph.node_count(), 1),
      live_(graph.node_count()) {
  std::iota(parent_.begin(), parent_.end(), 0U);
}

std::uint32_t NodeGroups::find(std::uint32_t node) {
  while (parent_[node] != node) {
    parent_[node] = parent_[parent_[node]];
    node = parent_[node];
  }
  return node;
}

void NodeGroups::tie(std::uint32_t one, std::uint32_t other) {
  one = find(one);
  other = find(other);
  if (one == other) return;
  if (other < one) std::swap(one, other);
  parent_[other] = one;
  size_[one] += size_[other];
}

void NodeGroups::tie(NodeId one, NodeId other) { tie(index(one), index(other)); }

void NodeGroups::make_group(NodeId member) { seeds_.push_back(member); }

// The point that a node is contracted to: its group's representative, or itself.
std::uint32_t NodeGroups::point_of(NodeId node) {
  const std::uint32_t root = find(index(node));
  return live_.contains(NodeId{root}) ? root : index(node);
}

// True of a node in no group that is tied to others, which join a group with it.
bool NodeGroups::brings_others(std::uint32_t node) {
  return is_tied(node) && !live_.contains(NodeId{find(node)});
}

// Edges between points; points that are no node of their own have no edges.
Adjacency NodeGroups::contracted(const std::vector<std::uint32_t>& point) const {
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

// One round: true when nodes came along that no circle held, since there may be new circles then.
// Without them there are none: what is left of the graph between components has no circle.
bool NodeGroups::merge_circles() {
  std::vector<std::uint32_t> point(graph_.node_count());
  for (const NodeId node : graph_.nodes()) point[index(node)] = point_of(node);
  const Components components = strongly_connected_components(contracted(point));
  std::vector<std::uint32_t> first(components.count, index(kNone<NodeId>));
  std::vector<std::uint32_t> grown;
  bool brought_others = false;
  for (const NodeId node : graph_.nodes()) {
    const std::uint32_t at = point[index(node)];
    std::uint32_t& known = first[components.of[at]];
    if (known == index(kNone<NodeId>)) known = at;
    if (known == at) continue;
    brought_others = brought_others || brings_others(known) || brings_others(at);
    tie(known, at);
    grown.push_back(known);
  }
  // A circle goes through a live group, since without groups the graph has none.
  for (const std::uint32_t node : grown) live_.insert(NodeId{find(node)});
  return brought_others;
}

void NodeGroups::close() {
  for (const NodeId seed : seeds_) live_.insert(NodeId{find(index(seed))});
  if (seeds_.empty()) return;
  while (merge_circles()) {
  }
}

Fusions NodeGroups::settle(AccNodes acc, ReasonCode code) && {
  close();
  Fusions result = without_groups(graph_, std::move(acc));
  if (live_.count() == 0) return result;
  std::vector<std::uint32_t> root(graph_.node_count());
  for (const NodeId node : graph_.nodes()) root[index(node)] = find(index(node));
  const Adjacency members = members_of(root, root.size());
  for (const NodeId node : graph_.nodes()) {  // representatives are first members
    if (!live_.contains(node) || root[index(node)] != index(node)) continue;
    settle_group(members.of(index(node)), code, result);
  }
  return result;
}

Fusions without_groups(const Graph& graph, AccNodes acc) {
  Fusions result;
  result.group_of = PerNode<GroupId>(graph.node_count(), kNone<GroupId>);
  result.member_begin.push_back(0);
  result.acc = std::move(acc);
  return result;
}

}  // namespace cleave
