#include "formats/models/onnx/view/runtime_view.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>

#include "core/graph/op_name.h"
#include "formats/models/onnx/view/equal_values.h"
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

// True when every input but the first is an initializer of the file or made by a Constant.
bool has_stored_weights(const Graph& graph, NodeId node) {
  const auto operands = graph.operands(node);
  return std::all_of(operands.begin(), operands.end(), [&](const Operand& operand) {
    const NodeId maker = graph.value(operand.value).producer;
    return operand.slot.position() == 0 || maker == kNone<NodeId> || graph.op(maker) == "Constant";
  });
}

// Whether one node alone reads the value. Nodes with stored weights are fused before equal ones are merged, those
// whose weights are computed first, after it.
bool has_one_reader(const Graph& graph, ValueId value, bool is_merged, const MergedNodes& merged) {
  if (!is_merged || merged.values.empty()) return graph.users(value).size() == 1;
  return merged.readers[merged.values[value]] == 1;
}

// The Conv that a BatchNormalization becomes part of: its weights are changed.
NodeId conv_before(const Graph& graph, NodeId node, const MergedNodes& merged) {
  if (!is_op(graph, node, "BatchNormalization") || !has_constant_weights(graph, node) ||
      !has_one_result(graph, node)) {
    return kNone<NodeId>;
  }
  const ValueId read = input_of(graph, node, 0);
  if (read == kNone<ValueId>) return kNone<NodeId>;
  const NodeId conv = graph.value(read).producer;
  if (!graph.nodes().contains(conv) || !is_op(graph, conv, "Conv")) return kNone<NodeId>;
  if (graph.is_graph_output(read) || !has_constant_weights(graph, conv)) return kNone<NodeId>;
  const bool is_stored = has_stored_weights(graph, conv) && has_stored_weights(graph, node);
  return has_one_reader(graph, read, !is_stored, merged) ? conv : kNone<NodeId>;
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

MergedNodes merged_nodes(const Graph& graph, const OnnxModel& model) {
  MergedNodes merged;
  merged.kept = kept_nodes(graph, equal_values(graph, model));
  merged.values = PerValue<ValueId>(graph.value_count());
  for (const ValueId value : IdRange<ValueId>(0, graph.value_count())) merged.values[value] = value;
  for (const NodeId node : graph.nodes()) {
    const NodeId kept = merged.kept[node];
    if (kept == node) continue;
    for (const ValueId value : graph.outputs(node)) {
      for (const ValueId own : graph.outputs(kept)) {
        if (graph.value(own).slot == graph.value(value).slot) merged.values[value] = own;
      }
    }
  }
  merged.readers = PerValue<std::uint32_t>(graph.value_count());
  for (const ValueId value : IdRange<ValueId>(0, graph.value_count())) {
    for (const NodeId reader : graph.users(value)) {
      if (merged.kept[reader] == reader) ++merged.readers[merged.values[value]];
    }
  }
  return merged;
}

NodeId onnx_runtime_host(const Graph& graph, NodeId node, const MergedNodes& merged) {
  if (!graph.nodes().contains(node)) return kNone<NodeId>;
  const auto kept = [&](NodeId one) { return merged.values.empty() ? one : merged.kept[one]; };
  if (!is_removed(graph, node)) {
    const NodeId stays = kept(node);
    const NodeId conv = conv_before(graph, stays, merged);
    if (conv != kNone<NodeId>) return kept(conv);
    return stays == node ? kNone<NodeId> : stays;
  }
  NodeId at = node;
  for (int i = 0; i < kMostRemovedInARow && is_removed(graph, at); ++i) {
    const ValueId read = input_of(graph, at, 0);
    const NodeId maker = read == kNone<ValueId> ? kNone<NodeId> : graph.value(read).producer;
    if (!graph.nodes().contains(maker)) return reader_after(graph, node);
    at = maker;
  }
  if (is_removed(graph, at)) return kNone<NodeId>;
  at = kept(at);
  const NodeId conv = conv_before(graph, at, merged);
  return conv == kNone<NodeId> ? at : kept(conv);
}

void add_runtime_view(OpFacts& facts, const OnnxModel* model) {
  // Found when it is first asked for: most lists speak of the model's own graph.
  struct Known {
    std::once_flag once;
    MergedNodes merged;
  };
  facts.runtime_host = [model, known = std::make_shared<Known>()](const Graph& graph, NodeId node) {
    std::call_once(known->once, [&] {
      if (model != nullptr) known->merged = merged_nodes(graph, *model);
    });
    return onnx_runtime_host(graph, node, known->merged);
  };
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
