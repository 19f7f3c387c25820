#include "core/split/fusion.h"

#include <limits>
#include <utility>

#include "core/split/node_groups.h"

namespace cleave {

// Steps:
// 1. Tie every tensor-free node to its readers. Ties are symmetric: a tensor-free member brings its
//    readers, and a member brings its tensor-free producers.
// 2. A tied set with a tensor-free node of the accelerator set is a group.
// 3. node_groups.cc makes groups convex and free of cycles.
// 4. Groups with a member outside the set are dissolved.

namespace {

bool is_tensor_free(const Graph& graph, NodeId node) {
  const auto outputs = graph.outputs(node);
  for (const ValueId value : outputs) {
    if (graph.value(value).holds_tensor) return false;
  }
  return !outputs.empty();
}

}  // namespace

Fusions find_fusions(const Graph& graph, AccNodes acc, const SplitOptions& options) {
  if (options.skip_fusion) return without_groups(graph, std::move(acc));
  NodeGroups groups(graph);
  for (const NodeId node : graph.nodes()) {
    if (!is_tensor_free(graph, node)) continue;
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

}  // namespace cleave
