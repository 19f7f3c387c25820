#include "core/support/part_conditions.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "core/graph/op_name.h"
#include "core/support/rule_check.h"

namespace cleave {
namespace {

bool is_named(const Graph& graph, NodeId node, const std::string& name) {
  return names_op_anywhere(parse_op(name), graph.domain(node), graph.op(node));
}

std::optional<Reason> failed_of(const Graph& graph, const PartConditions& part,
                                std::span<const NodeId> nodes) {
  for (std::size_t i = 0; i < part.min_ops.size(); ++i) {
    const auto found =
        static_cast<std::uint64_t>(std::count_if(nodes.begin(), nodes.end(), [&](NodeId node) {
          return is_named(graph, node, part.min_ops[i].op);
        }));
    if (found >= part.min_ops[i].count) continue;
    return Reason{.code = ReasonCode::part_condition,
                  .rule = static_cast<std::uint32_t>(i),
                  .size = static_cast<std::uint32_t>(found)};
  }
  const bool has_other =
      part.not_only.empty() || std::any_of(nodes.begin(), nodes.end(), [&](NodeId node) {
        return std::none_of(part.not_only.begin(), part.not_only.end(),
                            [&](const auto& name) { return is_named(graph, node, name); });
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
