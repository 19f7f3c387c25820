#include "core/graph/signature.h"

namespace cleave {

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
