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

Signature signature_of(const Graph& graph, NodeId node) {
  Signature signature;
  for (const Operand& operand : graph.operands(node)) {
    const OperandSlot slot = operand.slot;
    if (slot.is_capture() || slot.is_inside_list()) continue;
    const Value& value = graph.value(operand.value);
    const DType dtype = value.is_tensor() ? value.dtype : DType::unknown;
    if (slot.is_keyword()) signature.kwargs.emplace_back(graph.text(slot.name()), dtype);
    if (!slot.is_positional() || dtype == DType::unknown) continue;
    signature.args.resize(slot.position(), DType::unknown);
    signature.args.push_back(dtype);
  }
  return signature;
}

}  // namespace cleave
