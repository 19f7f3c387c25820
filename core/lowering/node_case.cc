#include "core/lowering/node_case.h"

#include <algorithm>
#include <vector>

#include "core/base/decimal.h"
#include "core/graph/op_name.h"

namespace cleave {
namespace {

std::string dim_text(const Graph& graph, Dim dim) {
  if (dim.is_fixed()) return std::to_string(dim.size());
  return dim.is_symbol() ? std::string(graph.text(dim.name())) : "?";
}

std::string value_text(const Graph& graph, ValueId id) {
  const Value& value = graph.value(id);
  std::string text = graph.is_parameter(id) ? "const " : "";
  text += value.is_tensor() ? dtype_name(value.dtype) : value_type_name(value.type);
  if (!value.is_tensor() || !graph.has_rank(id)) return text;
  text += '[';
  bool is_first = true;
  for (const Dim dim : graph.shape(id)) {
    if (!is_first) text += ',';
    text += dim_text(graph, dim);
    is_first = false;
  }
  return text + ']';
}

std::string slot_text(const Graph& graph, OperandSlot slot) {
  if (slot.is_capture()) return "^";
  if (slot.is_keyword()) return std::string(graph.text(slot.name())) + "=";
  return std::to_string(slot.position()) + (slot.is_inside_list() ? "*:" : ":");
}

// Empty when the attribute is opaque.
std::string attribute_text(const Graph& graph, const Attribute& attribute) {
  const AttributePools& pools = graph.attribute_pools();
  std::string text;
  const auto add = [&text](std::string_view item) {
    text += text.empty() ? "" : ",";
    text += item;
  };
  switch (attribute.type) {
    case AttributeType::integer:
    case AttributeType::boolean:
    case AttributeType::integers:
      for (const auto item : pools.integers_of(attribute)) add(std::to_string(item));
      break;
    case AttributeType::real:
    case AttributeType::reals:
      for (const double item : pools.reals_of(attribute)) add(shortest_text(item));
      break;
    case AttributeType::string:
    case AttributeType::strings:
      for (const std::string_view item : pools.strings_of(attribute)) {
        add('"' + std::string(item) + '"');
      }
      break;
    case AttributeType::opaque:
      return {};
  }
  return '[' + text + ']';
}

std::string opset_text(const Graph& graph, std::string_view domain) {
  for (const OpsetImport& import : graph.opsets()) {
    const bool both_default = domain.empty() && import.domain == "ai.onnx";
    if (import.domain == domain || both_default) return "@" + std::to_string(import.version);
  }
  return {};
}

std::string attributes_text(const Graph& graph, NodeId node) {
  std::vector<std::string> items;
  bool is_opaque = !graph.body_nodes(node).empty();
  for (const Attribute& attribute : graph.attributes(node)) {
    const std::string text = attribute_text(graph, attribute);
    is_opaque = is_opaque || text.empty();
    items.push_back(std::string(graph.text(attribute.name)) + "=" + text);
  }
  std::sort(items.begin(), items.end());
  std::string text = " {";
  for (const std::string& item : items) text += (text.size() > 2 ? " " : "") + item;
  text += '}';
  if (is_opaque) text += " of \"" + std::string(graph.node(node).name) + '"';
  return text;
}

}  // namespace

std::string node_case(const Graph& graph, NodeId node) {
  const std::string_view domain = graph.domain(node);
  std::string text = op_text(domain, graph.op(node)) + opset_text(graph, domain) + '(';
  bool is_first = true;
  for (const Operand& operand : graph.operands(node)) {
    if (!is_first) text += ", ";
    text += slot_text(graph, operand.slot) + value_text(graph, operand.value);
    is_first = false;
  }
  text += ')' + attributes_text(graph, node);
  return text + " -> " + std::to_string(graph.outputs(node).size());
}

}  // namespace cleave
