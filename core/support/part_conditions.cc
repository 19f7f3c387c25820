#include "core/support/part_conditions.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "core/support/glob.h"

namespace cleave {
namespace {

std::uint64_t count_of(const Graph& graph, std::span<const NodeId> nodes, std::string_view op) {
  return static_cast<std::uint64_t>(std::count_if(
      nodes.begin(), nodes.end(), [&](NodeId node) { return glob_match(op, graph.op(node)); }));
}

bool is_one_of(std::string_view op, const std::vector<std::string>& ops) {
  return std::any_of(ops.begin(), ops.end(),
                     [&](const std::string& one) { return glob_match(one, op); });
}

std::optional<Reason> failed_of(const Graph& graph, const PartConditions& part,
                                std::span<const NodeId> nodes) {
  for (std::size_t i = 0; i < part.min_ops.size(); ++i) {
    const std::uint64_t found = count_of(graph, nodes, part.min_ops[i].op);
    if (found >= part.min_ops[i].count) continue;
    return Reason{.code = ReasonCode::part_condition,
                  .rule = static_cast<std::uint32_t>(i),
                  .size = static_cast<std::uint32_t>(found)};
  }
  const bool has_other =
      part.not_only.empty() || std::any_of(nodes.begin(), nodes.end(), [&](NodeId node) {
        return !is_one_of(graph.op(node), part.not_only);
      });
  if (has_other) return std::nullopt;
  return Reason{.code = ReasonCode::part_condition, .rule = kNotOnly};
}

}  // namespace

bool have_part_conditions(std::span<const SupportList> lists) {
  return std::any_of(lists.begin(), lists.end(),
                     [](const SupportList& list) { return list.part.is_any(); });
}

std::optional<Reason> failed_part_condition(const Graph& graph, std::span<const SupportList> lists,
                                            std::span<const NodeId> nodes) {
  for (std::size_t i = 0; i < lists.size(); ++i) {
    auto reason = failed_of(graph, lists[i].part, nodes);
    if (!reason) continue;
    reason->list = static_cast<std::uint16_t>(i);
    return reason;
  }
  return std::nullopt;
}

}  // namespace cleave
