#include "core/graph/node_lookup.h"

#include <algorithm>

namespace cleave {

const Operand* find_plain_input(const Graph& graph, NodeId node, std::uint32_t position) {
  const auto operands = graph.operands(node);
  const auto at =
      std::partition_point(operands.begin(), operands.end(), [position](const Operand& operand) {
        return operand.slot.is_positional() && operand.slot.position() < position;
      });
  if (at == operands.end() || at->slot != OperandSlot::positional(position)) return nullptr;
  return &*at;
}

const Operand* find_plain_keyword(const Graph& graph, NodeId node, std::string_view name) {
  for (const Operand& operand : graph.operands(node)) {
    const OperandSlot slot = operand.slot;
    if (slot.is_keyword() && !slot.is_inside_list() && graph.text(slot.name()) == name) {
      return &operand;
    }
  }
  return nullptr;
}

const Attribute* find_attribute(const Graph& graph, NodeId node, std::string_view name) {
  for (const Attribute& attribute : graph.attributes(node)) {
    if (graph.text(attribute.name) == name) return &attribute;
  }
  return nullptr;
}

}  // namespace cleave
