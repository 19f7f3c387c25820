#include "formats/models/onnx/view/runtime_view.h"

#include <algorithm>
#include <string_view>

#include "core/graph/op_name.h"
#include "formats/models/onnx/view/function_bodies.h"

namespace cleave {
namespace {

bool is_op(const Graph& graph, NodeId node, std::string_view op) {
  return graph.op(node) == op && plain_domain(graph.domain(node)).empty();
}

// The value at an input; kNone where the node has none.
ValueId input_of(const Graph& graph, NodeId node, std::uint32_t position) {
  for (const Operand& operand : graph.operands(node)) {
    const OperandSlot slot = operand.slot;
    if (slot.is_positional() && slot.position() == position) return operand.value;
  }
  return kNone<ValueId>;
}

// Whether all inputs but the first are constants.
bool has_constant_weights(const Graph& graph, NodeId node) {
  const auto operands = graph.operands(node);
  return std::all_of(operands.begin(), operands.end(), [&](const Operand& operand) {
    return operand.slot.position() == 0 || graph.is_parameter(operand.value);
  });
}

bool is_unused(const Graph& graph, ValueId value) {
  return graph.users(value).empty() && !graph.is_graph_output(value);
}

// Whether only the first output is used.
bool has_one_result(const Graph& graph, NodeId node) {
  const auto outputs = graph.outputs(node);
  return std::all_of(outputs.begin(), outputs.end(), [&](ValueId value) {
    return graph.value(value).slot == 0 || is_unused(graph, value);
  });
}

// The Conv that a BatchNormalization becomes part of: its weights are changed.
NodeId conv_before(const Graph& graph, NodeId node) {
  if (!is_op(graph, node, "BatchNormalization") || !has_constant_weights(graph, node) ||
      !has_one_result(graph, node)) {
    return kNone<NodeId>;
  }
  const ValueId read = input_of(graph, node, 0);
  if (read == kNone<ValueId>) return kNone<NodeId>;
  const NodeId conv = graph.value(read).producer;
  if (!graph.nodes().contains(conv) || !is_op(graph, conv, "Conv")) return kNone<NodeId>;
  const bool is_only_reader = graph.users(read).size() == 1 && !graph.is_graph_output(read);
  return is_only_reader && has_constant_weights(graph, conv) ? conv : kNone<NodeId>;
}

bool is_removed(const Graph& graph, NodeId node) {
  if (is_op(graph, node, "Identity")) return true;
  if (!is_op(graph, node, "Dropout") || !has_one_result(graph, node)) return false;
  const ValueId is_training = input_of(graph, node, 2);
  return is_training == kNone<ValueId> || graph.is_parameter(is_training);
}

// The first reader that stays.
NodeId reader_after(const Graph& graph, NodeId node) {
  for (int i = 0; i < kMostRemovedInARow; ++i) {
    const auto readers = graph.readers(node);
    if (readers.empty()) return kNone<NodeId>;
    node = readers.front();
    if (!is_removed(graph, node)) return node;
  }
  return kNone<NodeId>;
}

}  // namespace

NodeId onnx_runtime_host(const Graph& graph, NodeId node) {
  if (!graph.nodes().contains(node)) return kNone<NodeId>;
  if (!is_removed(graph, node)) return conv_before(graph, node);
  NodeId at = node;
  for (int i = 0; i < kMostRemovedInARow && is_removed(graph, at); ++i) {
    const ValueId read = input_of(graph, at, 0);
    const NodeId maker = read == kNone<ValueId> ? kNone<NodeId> : graph.value(read).producer;
    if (!graph.nodes().contains(maker)) return reader_after(graph, node);
    at = maker;
  }
  if (is_removed(graph, at)) return kNone<NodeId>;
  const NodeId conv = conv_before(graph, at);
  return conv == kNone<NodeId> ? at : conv;
}

void add_runtime_view(OpFacts& facts) {
  facts.runtime_host = onnx_runtime_host;
  facts.function_body = [defaults = facts.default_attribute, versions = facts.schema_version](
                            const Graph& graph, NodeId node) {
    OpFacts of_body;  // the model's constants are not those of the body
    of_body.default_attribute = defaults;
    of_body.schema_version = versions;
    add_runtime_view(of_body);
    return onnx_function_body(graph, node, of_body);
  };
}

}  // namespace cleave
