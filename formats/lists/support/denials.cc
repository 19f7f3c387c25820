// Each text becomes two deny rules, one by op and one by the node's name. A text with a domain only
// becomes the rule by op.
#include "formats/lists/support/denials.h"

#include <algorithm>
#include <utility>

#include "core/graph/domain.h"
#include "core/support/rule_check.h"
#include "formats/base/json/text.h"
#include "formats/lists/support/rule_json.h"

namespace cleave {
namespace {

constexpr std::string_view kPath = "--deny";

std::vector<Rule> rules_of(const std::string& text) {
  const std::size_t separator = text.find("::");
  Rule by_op;
  by_op.op = separator == text.npos ? text : text.substr(separator + 2);
  if (separator != text.npos) by_op.domain = plain_domain(text.substr(0, separator));
  if (separator != text.npos && !by_op.op.empty()) return {by_op};
  Rule by_name;
  by_name.node_name = text;
  if (by_op.op.empty()) return {by_name};
  return {std::move(by_op), std::move(by_name)};
}

std::string text_of(const Rule& rule) {
  if (!rule.node_name.empty()) return rule.node_name;
  return (rule.domain.empty() ? "" : rule.domain + "::") + rule.op;
}

}  // namespace

SupportList list_of_denials(const std::vector<std::string>& texts) {
  SupportList list;
  list.name = kPath;
  list.path = kPath;
  JsonText json;
  json.begin_object();
  json.text("format", "cleave.support");
  json.number("version", 1);
  json.begin_list("deny");
  for (const std::string& text : texts) {
    for (Rule& rule : rules_of(text)) {
      write_deny_rule(json, rule);
      list.deny.push_back(std::move(rule));
    }
  }
  json.end_list();
  json.end_object();
  list.text = std::move(json).finish();
  return list;
}

bool is_list_of_denials(const SupportList& list) { return list.path == kPath; }

std::vector<std::string> idle_denials(const Graph& graph, const SupportList& list) {
  std::vector<std::string> used, idle;
  for (const Rule& rule : list.deny) {
    const auto names = [&](NodeId node) {
      return rule.node_name.empty() ? names_op(rule, graph.domain(node), graph.op(node))
                                    : names_node(rule, graph.node(node).name);
    };
    const auto nodes = graph.nodes();
    const bool is_used = std::any_of(nodes.begin(), nodes.end(), [&](NodeId node) {
      const auto inner = graph.body_nodes(node);
      return names(node) || std::any_of(inner.begin(), inner.end(), names);
    });
    (is_used ? used : idle).push_back(text_of(rule));
  }
  std::erase_if(idle, [&](const std::string& text) {
    return std::find(used.begin(), used.end(), text) != used.end();
  });
  idle.erase(std::unique(idle.begin(), idle.end()), idle.end());
  return idle;
}

}  // namespace cleave
