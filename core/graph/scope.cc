#include "core/graph/scope.h"

#include <algorithm>

namespace cleave {
namespace {

// "layer" for "layer@1", the second call of it.
std::string_view without_call_number(std::string_view name) {
  const std::size_t at = name.rfind('@');
  if (at == name.npos || at + 1 == name.size()) return name;
  const std::string_view number = name.substr(at + 1);
  const bool is_number = number.find_first_not_of("0123456789") == number.npos;
  return is_number ? name.substr(0, at) : name;
}

// Takes the first name off a dotted path.
std::string_view take_name(std::string_view& path) {
  const std::string_view name = path.substr(0, path.find('.'));
  path.remove_prefix(std::min(path.size(), name.size() + 1));
  return name;
}

}  // namespace

std::optional<std::size_t> length_inside(std::string_view scope, std::string_view outer) {
  std::string_view rest = scope;
  std::size_t length = 0;
  while (!outer.empty()) {
    const std::string_view wanted = take_name(outer);
    const std::string_view name = take_name(rest);
    if (name.empty() || (name != wanted && without_call_number(name) != wanted)) return {};
    length = static_cast<std::size_t>(name.data() + name.size() - scope.data());
  }
  return length;
}

std::string_view scope_of(const Graph& graph, NodeId node) {
  const Node& record = graph.node(node);
  const std::string_view scope = graph.text(record.scope);
  if (!scope.empty() || record.kind != NodeKind::call_module) return scope;
  return graph.text(record.target);
}

bool is_inside(std::string_view scope, std::string_view outer) {
  return length_inside(scope, outer).has_value();
}

std::string_view child_of(std::string_view scope, std::string_view outer) {
  const std::size_t length = length_inside(scope, outer).value_or(scope.size());
  scope.remove_prefix(std::min(scope.size(), length + (outer.empty() ? 0 : 1)));
  return scope.substr(0, scope.find('.'));
}

}  // namespace cleave
