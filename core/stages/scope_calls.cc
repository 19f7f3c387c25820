#include "core/stages/scope_calls.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

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

// The length of the start of `scope` that names `outer`, with or without call numbers; nullopt if
// `scope` is not inside `outer`.
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

// Finds the calls in one walk. A node of the scope gets the number of its call, from 1. Any other
// node gets the number of the latest call that its inputs depend on, or 0.
class CallFinder {
 public:
  CallFinder(const Graph& graph, std::string_view scope)
      : graph_(graph),
        scope_(scope),
        number_(graph.node_count(), 0),
        is_in_(graph.node_count(), 0) {}

  std::vector<ScopeCall> find() {
    for (const NodeId node : graph_.nodes()) {
      const std::string_view scope = scope_of(graph_, node);
      const auto length = length_inside(scope, scope_);
      if (!length) {
        number_[node] = latest_read(node, false);
        continue;
      }
      is_in_[node] = 1;
      if (begins_call(node, scope.substr(0, *length))) calls_.push_back({node, node});
      path_ = scope.substr(0, *length);
      calls_.back().last = node;
      number_[node] = static_cast<std::uint32_t>(calls_.size());
    }
    return std::move(calls_);
  }

 private:
  bool begins_call(NodeId node, std::string_view path) const {
    if (calls_.empty() || path != path_) return true;
    const Node& record = graph_.node(node);
    const bool is_call = record.kind == NodeKind::call_module && !scope_.empty() &&
                         graph_.text(record.target) == scope_;
    return is_call || latest_read(node, true) == calls_.size();
  }

  // The greatest number among the producers of the node's inputs.
  std::uint32_t latest_read(NodeId node, bool outside_only) const {
    std::uint32_t latest = 0;
    for (const Operand& operand : graph_.operands(node)) {
      const NodeId maker = graph_.value(operand.value).producer;
      if (maker == kNone<NodeId> || index(maker) >= graph_.node_count()) continue;
      if (outside_only && is_in_[maker] != 0) continue;
      latest = std::max(latest, number_[maker]);
    }
    return latest;
  }

  const Graph& graph_;
  std::string_view scope_;
  std::string_view path_;  // the start of the last node's path that names the scope
  PerNode<std::uint32_t> number_;
  PerNode<std::uint8_t> is_in_;
  std::vector<ScopeCall> calls_;
};

}  // namespace

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

std::vector<ScopeCall> find_calls(const Graph& graph, std::string_view scope) {
  return CallFinder(graph, scope).find();
}

}  // namespace cleave
