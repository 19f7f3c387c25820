#include "core/split/contraction.h"

#include <limits>

namespace cleave {

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
