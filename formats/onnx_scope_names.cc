#include "formats/onnx_scope_names.h"

#include <algorithm>
#include <unordered_set>

#include "formats/diagnostic.h"

namespace cleave {
namespace {

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(' ');
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

// `['', 'encoder', 'encoder.layer.0', 'linear']`, as Python prints a list: the last is the node.
std::string_view scope_of_list(std::string_view list) {
  std::string_view last, scope;
  for (std::size_t at = 0; at < list.size(); ++at) {
    const char quote = list[at];
    if (quote != '\'' && quote != '"') continue;
    const std::size_t end = list.find(quote, at + 1);
    if (end == std::string_view::npos) break;
    if (!last.empty()) scope = last;
    last = list.substr(at + 1, end - at - 1);
    at = end;
  }
  return scope;
}

// `: main.Net/encoder: main.Encoder/encoder.layer.0: Linear/linear: aten.linear.default`
std::string_view scope_of_namespace(std::string_view text) {
  std::string_view scope;
  for (std::size_t slash = text.find('/'); slash != std::string_view::npos;
       slash = text.find('/')) {
    const std::string_view part = text.substr(0, slash);
    const std::string_view name = trimmed(part.substr(0, part.find(": ")));
    if (!name.empty() && name.front() != ':') scope = name;
    text.remove_prefix(slash + 1);
  }
  return scope;
}

std::string scope_of_path(std::string_view name) {
  std::string scope;
  for (std::size_t slash = name.find('/'); slash != std::string_view::npos;
       slash = name.find('/')) {
    const std::string_view part = name.substr(0, slash);
    if (!part.empty()) {
      if (!scope.empty()) scope += '.';
      scope += part;
    }
    name.remove_prefix(slash + 1);
  }
  return scope;
}

}  // namespace

std::vector<std::string_view> unique_node_names(const OnnxGraph& graph, GraphBuilder& builder,
                                                std::vector<std::string>& notes) {
  std::unordered_set<std::string_view> given, taken;
  for (const OnnxNode& node : graph.nodes) given.insert(node.name);
  std::vector<std::string_view> names;
  names.reserve(graph.nodes.size());
  std::size_t unnamed = 0, repeated = 0;
  std::string example;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const OnnxNode& node = graph.nodes[i];
    if (!node.name.empty() && taken.insert(node.name).second) {
      names.push_back(node.name);
      continue;
    }
    std::string name(node.name.empty() ? node.op_type : node.name);
    name += '_' + std::to_string(i);
    while (given.contains(name) || taken.contains(name)) name += '_';
    names.push_back(builder.keep(name));
    taken.insert(names.back());
    ++(node.name.empty() ? unnamed : repeated);
    if (!node.name.empty() && example.empty()) {
      example = ", the first of them by " + quoted(name);
    }
  }
  if (unnamed > 0) {
    notes.push_back(std::to_string(unnamed) +
                    (unnamed == 1 ? " node without a name goes" : " nodes without a name go") +
                    " by <op>_<index>");
  }
  if (repeated > 0) {
    notes.push_back(std::to_string(repeated) +
                    (repeated == 1 ? " node with the name of one before goes"
                                   : " nodes with the name of one before go") +
                    " by <name>_<index>" + example);
  }
  return names;
}

std::string onnx_scope(const OnnxNode& node) {
  for (const OnnxKeyValue& entry : node.metadata) {
    if (entry.key == "pkg.torch.onnx.name_scopes") return std::string(scope_of_list(entry.value));
  }
  for (const OnnxKeyValue& entry : node.metadata) {
    if (entry.key == "namespace") return std::string(scope_of_namespace(entry.value));
  }
  return scope_of_path(node.name);
}

}  // namespace cleave
