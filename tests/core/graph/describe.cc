// Results of passes as text.

#include <stdexcept>

#include "tests/core/graph/graph_text.h"

namespace cleave {

namespace {

// Appends, with a space in between.
void append(std::string& text, std::string_view word) {
  if (!text.empty() && text.back() != '{' && text.back() != '(') text += ' ';
  text += word;
}

std::size_t every_node(const Graph& graph) {
  std::size_t count = graph.node_count() + graph.constants().size();
  for (const NodeId node : graph.nodes()) count += graph.body_nodes(node).size();
  return count;
}

}  // namespace

NodeId node_named(const Graph& graph, std::string_view name) {
  for (std::size_t i = 0; i < every_node(graph); ++i) {
    if (graph.node(id_at<NodeId>(i)).name == name) return id_at<NodeId>(i);
  }
  throw std::invalid_argument("no node is called " + std::string(name));
}

ValueId value_named(const Graph& graph, std::string_view name) {
  for (std::size_t i = 0; i < graph.value_count(); ++i) {
    if (graph.value(id_at<ValueId>(i)).name == name) return id_at<ValueId>(i);
  }
  throw std::invalid_argument("no value is called " + std::string(name));
}

NodeSet nodes_named(const Graph& graph, std::string_view names) {
  NodeSet nodes(graph.node_count());
  while (!names.empty()) {
    const std::size_t space = names.find(' ');
    if (space != 0) nodes.insert(node_named(graph, names.substr(0, space)));
    names = space == std::string_view::npos ? std::string_view() : names.substr(space + 1);
  }
  return nodes;
}

Support support_all_but(const Graph& graph, std::string_view names) {
  const NodeSet unsupported = nodes_named(graph, names);
  Support support{NodeSet(graph.node_count()), PerNode<Reason>(graph.node_count())};
  for (const NodeId node : graph.nodes()) {
    if (unsupported.contains(node)) {
      support.reasons[node].code = ReasonCode::no_rule;
    } else {
      support.supported.insert(node);
    }
  }
  return support;
}

std::string names_of(const Graph& graph, const NodeSet& nodes) {
  std::string text;
  for (const NodeId node : graph.nodes()) {
    if (nodes.contains(node)) append(text, graph.node(node).name);
  }
  return text;
}

std::string names_of(const Graph& graph, std::span<const NodeId> nodes) {
  std::string text;
  for (const NodeId node : nodes) append(text, graph.node(node).name);
  return text;
}

std::string names_of(const Graph& graph, std::span<const ValueId> values) {
  std::string text;
  for (const ValueId value : values) append(text, graph.value(value).name);
  return text;
}

std::string describe(const Graph& graph, const Fusions& fusions) {
  std::string text;
  for (std::size_t i = 0; i < fusions.group_count(); ++i) {
    append(text, "{" + names_of(graph, fusions.group(id_at<GroupId>(i))) + "}");
  }
  return text;
}

std::string describe(const Graph& graph, const Subgraphs& subgraphs) {
  std::string text;
  for (std::size_t i = 0; i < subgraphs.count(); ++i) {
    if (i != 0) text += " | ";
    text += subgraphs.devices[i] == Device::acc ? "acc:" : "cpu:";
    for (const NodeId node : graph.nodes()) {
      if (index(subgraphs.subgraph_of[node]) == i) append(text, graph.node(node).name);
    }
  }
  return text;
}

std::string describe(const Graph& graph, const Partition& partition, const Boundaries& boundaries) {
  std::string text;
  for (const PartId part : partition.parts()) {
    text += partition.name(part) + "(" + names_of(graph, boundaries.inputs[part]);
    std::string inside = names_of(graph, boundaries.parameters[part]);
    for (const NodeId node : needed_constants(graph, boundaries, part))
      append(inside, graph.node(node).name);
    if (!inside.empty()) text += "; " + inside;
    text += ") ->";
    for (const ValueId value : boundaries.outputs[part]) append(text, graph.value(value).name);
    text += '\n';
  }
  return text;
}

std::string describe(const Graph& graph, const PerNode<Reason>& reasons) {
  std::string text;
  for (const NodeId node : graph.nodes()) {
    const Reason& reason = reasons[node];
    if (reason.code == ReasonCode::none) continue;
    text += std::string(graph.node(node).name) + ": " + std::string(reason_code_name(reason.code));
    if (reason.because != kNone<NodeId>) append(text, graph.node(reason.because).name);
    text += '\n';
  }
  return text;
}

}  // namespace cleave
