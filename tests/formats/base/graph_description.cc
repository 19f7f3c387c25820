#include "tests/formats/base/graph_description.h"

#include <sstream>

#include "formats/report/words/words.h"

namespace cleave {

namespace {

std::string operand_text(const Graph& graph, const Operand& operand) {
  std::string name(graph.value(operand.value).name);
  if (operand.slot.is_inside_list()) name = "[" + name + "]";
  if (operand.slot.is_keyword()) return std::string(graph.text(operand.slot.name())) + "=" + name;
  return std::to_string(operand.slot.position()) + ":" + name;
}

std::string attribute_text(const Graph& graph, const Attribute& attribute) {
  const AttributePools& pools = graph.attribute_pools();
  std::string text(graph.text(attribute.name));
  const auto append = [&](const auto& items) {
    for (const auto& item : items) {
      std::ostringstream out;
      out << item;
      text += ' ' + out.str();
    }
  };
  switch (attribute.type) {
    case AttributeType::opaque:
      return text + " opaque";
    case AttributeType::real:
    case AttributeType::reals:
      text += attribute.type == AttributeType::real ? " real" : " reals";
      append(pools.reals_of(attribute));
      return text;
    case AttributeType::string:
    case AttributeType::strings:
      text += attribute.type == AttributeType::string ? " string" : " strings";
      append(pools.strings_of(attribute));
      return text;
    case AttributeType::boolean:
    case AttributeType::integer:
    case AttributeType::integers:
      text += attribute.type == AttributeType::boolean   ? " boolean"
              : attribute.type == AttributeType::integer ? " integer"
                                                         : " integers";
      append(pools.integers_of(attribute));
  }
  return text;
}

std::string value_line(const Graph& graph, ValueId value) {
  return std::string(graph.value(value).name) + ": " + type_text(graph, value) +
         (graph.value(value).holds_tensor ? "" : " (no tensor)");
}

}  // namespace

std::string described(const Graph& graph) {
  std::string text;
  for (const ValueId id : graph.inputs()) text += "input " + value_line(graph, id) + '\n';
  for (const ValueId id : graph.parameters()) text += "parameter " + value_line(graph, id) + '\n';
  for (const NodeId id : graph.nodes()) {
    text += "node " + std::string(graph.node(id).name) + " = " + std::string(graph.op(id)) + "(";
    for (const Operand& operand : graph.operands(id)) text += operand_text(graph, operand) + ' ';
    text += ")";
    for (const ValueId value : graph.module_parameters(id)) {
      text += " !" + std::string(graph.value(value).name);
    }
    text += '\n';
    for (const Attribute& a : graph.attributes(id)) text += "  " + attribute_text(graph, a) + '\n';
    for (const ValueId value : graph.outputs(id)) text += "  -> " + value_line(graph, value) + '\n';
  }
  for (const ValueId id : graph.outputs()) {
    text += "output " + std::string(graph.value(id).name) + '\n';
  }
  return text;
}

}  // namespace cleave
