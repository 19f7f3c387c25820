// Groups of nodes that move as one.
#include "core/split/groups.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "core/split/options.h"
#include "core/split/split.h"

namespace cleave {

// ---- piece ----

namespace {

// For each node from the first to the last of a set: whether it is in the set, and the member that
// it depends on through nodes outside.
class Window {
 public:
  Window(const Graph& graph, std::span<const NodeId> nodes)
      : graph_(graph),
        first_(index(nodes.front())),
        is_in_(index(nodes.back()) - first_ + 1, 0),
        from_(is_in_.size(), kNone<NodeId>) {
    for (const NodeId node : nodes) is_in_[index(node) - first_] = 1;
  }

  std::optional<Detour> find() {
    for (std::uint32_t place = 0; place < is_in_.size(); ++place) {
      const NodeId node{first_ + place};
      for (const Operand& operand : graph_.operands(node)) {
        const NodeId maker = graph_.value(operand.value).producer;
        if (maker == kNone<NodeId> || index(maker) < first_ || maker >= node) continue;
        const std::uint32_t other = index(maker) - first_;
        if (is_in_[place] != 0 && from_[other] != kNone<NodeId>) {
          return Detour{.from = from_[other], .over = maker, .to = node};
        }
        if (is_in_[place] == 0 && is_in_[other] != 0) from_[place] = maker;
        if (is_in_[place] == 0 && from_[other] != kNone<NodeId>) from_[place] = from_[other];
      }
    }
    return std::nullopt;
  }

 private:
  const Graph& graph_;
  std::uint32_t first_;
  std::vector<std::uint8_t> is_in_;
  std::vector<NodeId> from_;
};

}  // namespace

std::optional<Detour> find_detour(const Graph& graph, std::span<const NodeId> nodes) {
  if (nodes.empty()) return std::nullopt;
  return Window(graph, nodes).find();
}

std::vector<NodeId> nodes_between(const Graph& graph, std::span<const ValueId> from,
                                  std::span<const ValueId> to) {
  ValueSet ends(graph.value_count()), needed(graph.value_count());
  for (const ValueId value : from) ends.insert(value);
  for (const ValueId value : to) needed.insert(value);
  std::vector<NodeId> nodes;
  for (std::size_t i = graph.node_count(); i-- > 0;) {
    const auto node = id_at<NodeId>(i);
    const bool is_needed = std::ranges::any_of(graph.outputs(node), [&](ValueId output) {
      return needed.contains(output) && !ends.contains(output);
    });
    if (!is_needed) continue;
    nodes.push_back(node);
    for (const Operand& operand : graph.operands(node)) needed.insert(operand.value);
  }
  std::ranges::reverse(nodes);
  return nodes;
}

std::vector<ValueId> outputs_after(const Graph& graph, std::span<const ValueId> from) {
  ValueSet begins(graph.value_count()), reached(graph.value_count());
  for (const ValueId value : from) begins.insert(value);
  for (const NodeId node : graph.nodes()) {
    const bool reads = std::ranges::any_of(graph.operands(node), [&](const Operand& operand) {
      return begins.contains(operand.value) || reached.contains(operand.value);
    });
    if (!reads) continue;
    for (const ValueId output : graph.outputs(node)) {
      if (!begins.contains(output)) reached.insert(output);
    }
  }
  ValueSet given(graph.value_count());
  std::vector<ValueId> outputs;
  for (const ValueId output : graph.outputs()) {
    if (reached.contains(output) && given.insert(output)) outputs.push_back(output);
  }
  return outputs;
}

Partition make_piece(const Graph& graph, std::span<const NodeId> nodes, std::string name) {
  Partition piece;
  piece.part_of = PerNode<PartId>(graph.node_count(), kNone<PartId>);
  for (const NodeId node : nodes) piece.part_of[node] = PartId{0};
  piece.names.push_back(std::move(name));
  piece.member_begin = {0, static_cast<std::uint32_t>(nodes.size())};
  piece.members.assign(nodes.begin(), nodes.end());
  return piece;
}

// ---- fusion ----

// Steps:
// 1. Tie every tensor-free node to its readers. Ties are symmetric: a tensor-free member brings its
//    readers, and a member brings its tensor-free producers.
// 2. A tied set with a tensor-free node of the accelerator set is a group.
// 3. NodeGroups makes groups convex and free of cycles.
// 4. Groups with a member outside the set are dissolved.

namespace {

bool is_tensor_free(const Graph& graph, NodeId node) {
  const auto outputs = graph.outputs(node);
  for (const ValueId value : outputs) {
    if (graph.value(value).holds_tensor) return false;
  }
  return !outputs.empty();
}

// A result without groups; `acc` is unchanged.
Fusions without_groups(const Graph& graph, AccNodes acc) {
  Fusions result;
  result.group_of = PerNode<GroupId>(graph.node_count(), kNone<GroupId>);
  result.member_begin.push_back(0);
  result.acc = std::move(acc);
  return result;
}

}  // namespace

Fusions find_fusions(const Graph& graph, AccNodes acc, const SplitOptions& options,
                     const NodeSet* sizes) {
  if (options.skip_fusion) return without_groups(graph, std::move(acc));
  NodeGroups groups(graph);
  for (const NodeId node : graph.nodes()) {
    if (!is_tensor_free(graph, node) || (sizes != nullptr && sizes->contains(node))) continue;
    for (const NodeId reader : graph.readers(node)) groups.tie(node, reader);
    if (acc.nodes.contains(node)) groups.make_group(node);
  }
  return std::move(groups).settle(std::move(acc), ReasonCode::fusion_group);
}

Contraction::Contraction(const Graph& graph, const Fusions& fusions)
    : fusions_(fusions), unit_of_(graph.node_count()) {
  first_.reserve(graph.node_count());
  constexpr auto kUnmet = std::numeric_limits<std::uint32_t>::max();
  std::vector<std::uint32_t> unit_of_group(fusions.group_count(), kUnmet);
  for (const NodeId node : graph.nodes()) {
    const GroupId group = fusions.group_of[node];
    const auto next = static_cast<std::uint32_t>(first_.size());
    if (group == kNone<GroupId>) {
      unit_of_[node] = next;
      first_.push_back(node);
      continue;
    }
    std::uint32_t& unit = unit_of_group[index(group)];
    if (unit == kUnmet) {
      unit = next;
      first_.push_back(node);
    }
    unit_of_[node] = unit;
  }
}

std::span<const NodeId> Contraction::nodes(std::uint32_t unit) const {
  const GroupId group = fusions_.group_of[first_[unit]];
  return group == kNone<GroupId> ? std::span(&first_[unit], 1) : fusions_.group(group);
}

// ---- node ties ----

namespace {

std::string quote(std::string_view text) { return '"' + std::string(text) + '"'; }

Error divided(const Graph& graph, const Partition& partition, const std::vector<NodeId>& nodes,
              NodeId other, std::string_view cause) {
  constexpr std::size_t kMostNamed = 6;
  std::string names;
  for (std::size_t i = 0; i < std::min(nodes.size(), kMostNamed); ++i) {
    names += (i == 0 ? "" : ", ") + quote(graph.node(nodes[i]).name);
  }
  if (nodes.size() > kMostNamed) names += ", ...";
  return {std::string(cause) + " are in several partitions, " +
              quote(partition.name(partition.part_of[nodes.front()])) + " and " +
              quote(partition.name(partition.part_of[other])) + ": " + names,
          other};
}

}  // namespace

bool divides_a_set(std::span<const std::vector<NodeId>> sets, const PerNode<PartId>& part_of) {
  return std::ranges::any_of(sets, [&](const std::vector<NodeId>& nodes) {
    return std::ranges::any_of(
        nodes, [&](NodeId node) { return part_of[node] != part_of[nodes.front()]; });
  });
}

Fusions keep_sets_whole(const Graph& graph, std::span<const std::vector<NodeId>> sets,
                        Fusions fusions) {
  NodeGroups joined(graph);
  for (std::size_t i = 0; i < fusions.group_count(); ++i) {
    joined.add_group(fusions.group(id_at<GroupId>(i)));
  }
  for (const std::vector<NodeId>& nodes : sets) joined.add_group(nodes);
  return std::move(joined).settle(std::move(fusions.acc), ReasonCode::shared_memory,
                                  NodeGroups::Incomplete::keep);
}

Status<> check_whole(const Graph& graph, const Partition& partition, const NodeTies& ties) {
  for (std::size_t i = 0; i < ties.whole.size(); ++i) {
    const std::vector<NodeId>& nodes = ties.whole[i];
    const PartId part = partition.part_of[nodes.front()];
    const auto other =
        std::ranges::find_if(nodes, [&](NodeId node) { return partition.part_of[node] != part; });
    if (other == nodes.end()) continue;
    const bool has_cause = i < ties.causes.size() && !ties.causes[i].empty();
    Error error = divided(graph, partition, nodes, *other,
                          has_cause ? ties.causes[i] : "nodes that write or view the same memory");
    if (!ties.way_out.empty()) error.notes.push_back(ties.way_out);
    return error;
  }
  return Done{};
}

// ---- node groups ----
//
// Steps:
// 1. nodes are tied, and some groups are made live (the callers do this);
// 2. close(): merge all groups on a cycle, until there is none;
// 3. settle(): keep the groups that are whole on the accelerator, and move the others to the CPU.

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

namespace {

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

}  // namespace

Fusions find_groups(const Graph& graph, AccNodes acc, const Whole& whole,
                    const SplitOptions& options) {
  Fusions fusions = find_fusions(graph, std::move(acc), options, whole.sizes);
  if (whole.qdq_groups.count() > 0) {
    fusions = keep_qdq_groups(graph, whole.qdq_groups, std::move(fusions));
  }
  return keep_together(graph, {whole.patterns.begin, whole.patterns.nodes}, std::move(fusions),
                       ReasonCode::pattern_group);
}

// ---- acc finder ----
//
// Both rules only remove nodes, and each removal can only cause more. So the result does not depend
// on the order, and one worklist of removed nodes is enough.

namespace {

class AccFinder {
 public:
  AccFinder(const Graph& graph, const Support& support, const NodeSet* sizes)
      : graph_(graph), found_{support.supported, support.reasons}, mixed_(graph.node_count()) {
    for (const NodeId node : graph.nodes()) {
      if (sizes != nullptr && sizes->contains(node)) continue;
      const bool is_mixed = std::ranges::any_of(
          graph.outputs(node), [&](ValueId value) { return !graph.value(value).is_tensor(); });
      if (is_mixed) mixed_.insert(node);
    }
  }

  AccNodes run() && {
    for (const NodeId node : graph_.nodes()) {
      if (!found_.nodes.contains(node)) left_.push_back(node);
    }
    drop_users();
    drop_makers();
    return std::move(found_);
  }

 private:
  void drop(NodeId node, ReasonCode code, NodeId because) {
    if (!found_.nodes.erase(node)) return;
    found_.reasons[node] = {.code = code, .because = because};
    left_.push_back(node);
  }

  // Drops the readers of a CPU node's non-tensor outputs.
  void drop_users_of(NodeId cpu) {
    if (!mixed_.contains(cpu)) return;
    for (const ValueId value : graph_.outputs(cpu)) {
      for (const NodeId user : graph_.users(value)) drop(user, ReasonCode::non_tensor_input, cpu);
    }
  }

  // Rule 1 alone, starting from every node that is on the CPU at first.
  void drop_users() {
    for (std::size_t next = 0; next < left_.size(); ++next) drop_users_of(left_[next]);
  }

  // Rule 2, and rule 1 for every node that it drops.
  void drop_makers() {
    const std::size_t settled = left_.size();
    for (const ValueId value : graph_.outputs()) {
      drop_maker_of(value, kNone<NodeId>);
    }
    for (std::size_t next = 0; next < left_.size(); ++next) {
      if (next >= settled) drop_users_of(left_[next]);
      for (const Operand& operand : graph_.operands(left_[next])) {
        drop_maker_of(operand.value, left_[next]);
      }
    }
  }

  // Drops the maker of a value that `reader`, on the CPU, reads, if the maker has a non-tensor
  // output.
  void drop_maker_of(ValueId value, NodeId reader) {
    const Value& read = graph_.value(value);
    if (read.kind != ValueKind::node_output || index(read.producer) >= mixed_.bound()) return;
    if (mixed_.contains(read.producer)) drop(read.producer, ReasonCode::non_tensor_output, reader);
  }

  const Graph& graph_;
  AccNodes found_;
  NodeSet mixed_;  // nodes with an output that is no tensor, nor a size that the host has
  std::vector<NodeId> left_;  // nodes outside the set, in the order in which they left it
};

}  // namespace

AccNodes find_acc_nodes(const Graph& graph, const Support& support, const SplitOptions& options,
                        const NodeSet* sizes) {
  if (options.allow_non_tensor) return {support.supported, support.reasons};
  return AccFinder(graph, support, sizes).run();
}

// ---- keep qdq ----

QdqGroups qdq_groups_asked_for(const Graph& graph, const SplitOptions& options,
                               std::span<const SupportList> lists) {
  if (options.keep_qdq) return find_qdq_groups(graph, QdqReach::chains);
  const bool is_asked_for =
      std::ranges::any_of(lists, [](const SupportList& list) { return list.keeps_qdq; });
  return is_asked_for ? find_qdq_groups(graph, QdqReach::operators) : QdqGroups();
}

Fusions keep_qdq_groups(const Graph& graph, const QdqGroups& groups, Fusions fusions) {
  return keep_together(graph, {groups.begin, groups.members}, std::move(fusions),
                       ReasonCode::qdq_group);
}

}  // namespace cleave
