// Steps:
// 1. nodes are tied, and some groups are made live (the callers do this);
// 2. close(): merge all groups on a cycle, until there is none;
// 3. settle(): keep the groups that are whole on the accelerator, and move the others to the CPU.
#include "core/split/node_groups.h"

#include <numeric>
#include <utility>

namespace cleave {
namespace {

constexpr std::uint32_t kNowhere = index(kNone<NodeId>);

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

void NodeGroups::add_group(std::span<const NodeId> members) {
  if (members.empty()) return;
  for (const NodeId member : members) tie(members.front(), member);
  make_group(members.front());
}

// The nodes from the first to the last member of each group, ascending. The representative is the
// first member.
std::vector<std::uint32_t> NodeGroups::nodes_between_members() {
  NodeSet is_last(graph_.node_count());
  NodeSet has_last(graph_.node_count());  // by representative
  for (std::size_t n = graph_.node_count(); n-- > 0;) {
    const NodeId group{find(static_cast<std::uint32_t>(n))};
    if (live_.contains(group) && has_last.insert(group)) is_last.insert(id_at<NodeId>(n));
  }
  std::vector<std::uint32_t> nodes;
  std::size_t groups_around = 0;
  for (const NodeId node : graph_.nodes()) {
    if (has_last.contains(node)) ++groups_around;
    if (groups_around > 0) nodes.push_back(index(node));
    if (is_last.contains(node)) --groups_around;
  }
  return nodes;
}

// Edges between points, by their places; a node that is contracted into another has no edges.
Adjacency NodeGroups::contracted(const std::vector<std::uint32_t>& nodes,
                                 const std::vector<std::uint32_t>& points,
                                 const std::vector<std::uint32_t>& place) const {
  const Adjacency members = members_of(points, points.size());
  Adjacency edges;
  edges.begin.reserve(points.size() + 1);
  for (std::uint32_t at = 0; at < points.size(); ++at) {
    for (const std::uint32_t member : members.of(at)) {
      const auto add = [&](NodeId later) {
        if (place[index(later)] == kNowhere) return;
        const std::uint32_t to = points[place[index(later)]];
        if (to != at) edges.add(to);
      };
      for (const NodeId reader : graph_.readers(NodeId{nodes[member]})) add(reader);
      for (const NodeId follower : graph_.followers(NodeId{nodes[member]})) add(follower);
    }
    edges.end_list();
  }
  return edges;
}

// One round. Returns true when tied nodes joined from outside a cycle, since they may close new
// cycles. If none did, no cycle is left: the graph between components has none.
bool NodeGroups::merge_cycles() {
  const std::vector<std::uint32_t> nodes = nodes_between_members();
  std::vector<std::uint32_t> place(graph_.node_count(), kNowhere);  // index among `nodes`
  for (std::uint32_t i = 0; i < nodes.size(); ++i) place[nodes[i]] = i;
  // The place that a node is contracted to: its group's representative, or its own.
  std::vector<std::uint32_t> points;
  points.reserve(nodes.size());
  for (const std::uint32_t node : nodes) {
    points.push_back(place[is_in_group(node) ? find(node) : node]);
  }
  const Components components = strongly_connected_components(contracted(nodes, points, place));
  std::vector<std::uint32_t> first(components.count, kNowhere);  // node
  std::vector<std::uint32_t> grown;
  bool brought_others = false;
  for (const std::uint32_t point : points) {
    const std::uint32_t at = nodes[point];
    std::uint32_t& known = first[components.of[point]];
    if (known == kNowhere) known = at;
    if (known == at) continue;
    brought_others = brought_others || brings_others(known) || brings_others(at);
    tie(known, at);
    grown.push_back(known);
  }
  // A cycle goes through a live group, since the graph without groups has none.
  for (const std::uint32_t node : grown) live_.insert(NodeId{find(node)});
  return brought_others;
}

void NodeGroups::close() {
  for (const NodeId seed : seeds_) live_.insert(NodeId{find(index(seed))});
  if (seeds_.empty()) return;
  while (merge_cycles()) {
  }
}

// All groups by their first members, complete or not; result.group_of holds each group's index in
// this list.
std::vector<NodeGroups::Group> NodeGroups::gather(Fusions& result) {
  std::vector<Group> groups;
  for (const NodeId node : graph_.nodes()) {
    const NodeId first{find(index(node))};
    if (!live_.contains(first)) continue;
    if (first == node) {
      result.group_of[node] = id_at<GroupId>(groups.size());
      groups.push_back({size_[index(node)]});
    }
    result.group_of[node] = result.group_of[first];
    Group& group = groups[index(result.group_of[node])];
    if (group.outside == kNone<NodeId> && !result.acc.nodes.contains(node)) group.outside = node;
  }
  return groups;
}

Fusions NodeGroups::settle(AccNodes acc, ReasonCode code, Incomplete incomplete) && {
  close();
  Fusions result = without_groups(graph_, std::move(acc));
  if (live_.count() == 0) return result;
  std::vector<Group> groups = gather(result);
  for (Group& group : groups) {
    if (group.outside != kNone<NodeId> && incomplete == Incomplete::dissolve) continue;
    group.id = id_at<GroupId>(result.group_count());
    group.filled = result.member_begin.back();
    result.member_begin.push_back(group.filled + group.size);
  }
  result.members.resize(result.member_begin.back());
  for (const NodeId node : graph_.nodes()) {
    GroupId& of = result.group_of[node];
    if (of == kNone<GroupId>) continue;
    Group& group = groups[index(of)];
    of = group.id;
    if (group.id != kNone<GroupId>) result.members[group.filled++] = node;
    if (group.outside != kNone<NodeId> && result.acc.nodes.erase(node)) {
      result.acc.reasons[node] = {.code = code, .because = group.outside};
    }
  }
  return result;
}

Fusions NodeGroups::settle_all() && {
  AccNodes all{NodeSet(graph_.node_count()), PerNode<Reason>(graph_.node_count())};
  for (const NodeId node : graph_.nodes()) all.nodes.insert(node);
  return std::move(*this).settle(std::move(all), ReasonCode::fusion_group);
}

Fusions keep_together(const Graph& graph, const NodeLists& sets, Fusions fusions, ReasonCode code) {
  if (sets.begin.size() < 2) return fusions;
  NodeGroups joined(graph);
  for (std::size_t i = 0; i < fusions.group_count(); ++i) {
    joined.add_group(fusions.group(id_at<GroupId>(i)));
  }
  for (std::size_t i = 0; i + 1 < sets.begin.size(); ++i) {
    joined.add_group(sets.nodes.subspan(sets.begin[i], sets.begin[i + 1] - sets.begin[i]));
  }
  return std::move(joined).settle(std::move(fusions.acc), code);
}

Fusions find_groups(const Graph& graph, AccNodes acc, const Whole& whole,
                    const SplitOptions& options) {
  Fusions fusions = find_fusions(graph, std::move(acc), options);
  if (whole.qdq_groups.count() > 0) {
    fusions = keep_qdq_groups(graph, whole.qdq_groups, std::move(fusions));
  }
  return keep_together(graph, {whole.patterns.begin, whole.patterns.nodes}, std::move(fusions),
                       ReasonCode::pattern_group);
}

Fusions without_groups(const Graph& graph, AccNodes acc) {
  Fusions result;
  result.group_of = PerNode<GroupId>(graph.node_count(), kNone<GroupId>);
  result.member_begin.push_back(0);
  result.acc = std::move(acc);
  return result;
}

}  // namespace cleave
