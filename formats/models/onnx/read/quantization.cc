#include <algorithm>

#include "core/graph/node_lookup.h"
#include "core/graph/op_name.h"
#include "formats/models/onnx/read/reader.h"

namespace cleave {
namespace {

using Found = std::optional<Quantization>;

bool is_of(const Graph& graph, NodeId node, std::string_view op) {
  return graph.op(node) == op && (graph.domain(node).empty() || graph.domain(node) == "ai.onnx" ||
                                  graph.domain(node) == "com.microsoft");
}

bool is_quantize(const Graph& graph, NodeId node) {
  return quant_role(graph, node) == QuantRole::quantize;
}
bool is_dequantize(const Graph& graph, NodeId node) {
  return quant_role(graph, node) == QuantRole::dequantize;
}

// The operator's own quantised tensor: what a QuantizeLinear makes, a DequantizeLinear reads.
std::optional<ValueId> stored_tensor(const Graph& graph, NodeId node) {
  if (is_quantize(graph, node)) return *graph.outputs(node).begin();
  const Operand* const input = find_plain_input(graph, node, 0);
  return input == nullptr ? std::nullopt : std::optional(input->value);
}

std::int64_t integer_of(const Graph& graph, NodeId node, std::string_view name,
                        std::int64_t otherwise) {
  const Attribute* const attribute = find_attribute(graph, node, name);
  if (attribute == nullptr) return otherwise;
  const auto numbers = graph.attribute_pools().integers_of(*attribute);
  return numbers.empty() ? otherwise : numbers.front();
}

double real_of(const Literal& literal) {
  if (const auto* const integer = std::get_if<std::int64_t>(&literal)) {
    return static_cast<double>(*integer);
  }
  const auto* const real = std::get_if<double>(&literal);
  return real == nullptr ? 0 : *real;
}

// The value that Identity nodes copy, as exporters write them where several nodes share a zero point.
ValueId behind_identities(const Graph& graph, ValueId value) {
  for (;;) {
    const NodeId maker = graph.value(value).producer;
    if (maker == kNone<NodeId> || !is_of(graph, maker, "Identity")) return value;
    const Operand* const input = find_plain_input(graph, maker, 0);
    if (input == nullptr) return value;
    value = input->value;
  }
}

// What the scale and the zero point of a QuantizeLinear or DequantizeLinear say.
Found parameters_of(const OnnxModel& model, const Graph& graph, NodeId node) {
  const Operand* const scale = find_plain_input(graph, node, 1);
  const Operand* const zero = find_plain_input(graph, node, 2);
  const auto stored = stored_tensor(graph, node);
  if (scale == nullptr || !stored) return std::nullopt;
  const auto scales = onnx_constant_elements(model, graph, behind_identities(graph, scale->value));
  if (!scales || scales->empty()) return std::nullopt;
  Quantization found;
  found.stored = graph.value(*stored).dtype;
  found.kind = scales->size() == 1 ? Quantization::Kind::tensor : Quantization::Kind::axis;
  if (integer_of(graph, node, "block_size", 0) != 0) found.kind = Quantization::Kind::other;
  found.axis = integer_of(graph, node, "axis", 1);
  for (const Literal& one : *scales) found.scales.push_back(real_of(one));
  found.zero_points.assign(scales->size(), 0);
  if (zero == nullptr) return found;
  const auto points = onnx_constant_elements(model, graph, behind_identities(graph, zero->value));
  if (!points || points->size() != scales->size()) return std::nullopt;
  for (std::size_t i = 0; i < points->size(); ++i) {
    found.zero_points[i] = static_cast<std::int64_t>(real_of((*points)[i]));
  }
  return found;
}

}  // namespace

Found onnx_quantization(const OnnxModel& model, const Graph& graph, ValueId tensor) {
  const NodeId maker = graph.value(tensor).producer;
  if (maker != kNone<NodeId> && (is_dequantize(graph, maker) || is_quantize(graph, maker))) {
    return parameters_of(model, graph, maker);
  }
  const auto users = graph.users(tensor);
  const auto quantizes = [&](NodeId user) {
    const Operand* const input = find_plain_input(graph, user, 0);
    return (is_quantize(graph, user) || is_dequantize(graph, user)) && input != nullptr &&
           input->value == tensor;
  };
  const bool is_read_quantized = !users.empty() && !graph.is_graph_output(tensor) &&
                                 std::all_of(users.begin(), users.end(), quantizes);
  if (is_read_quantized) return parameters_of(model, graph, users.front());
  Quantization none;
  none.stored = graph.value(tensor).dtype;
  return none;
}

}  // namespace cleave
