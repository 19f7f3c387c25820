#include "formats/report/words/list_warnings.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <unordered_set>

#include "core/base/capped_list.h"
#include "core/base/number_text.h"
#include "core/graph/op_name.h"
#include "core/support/unused_rules.h"

namespace cleave {
namespace {

// Of nodes, constants, and nodes in bodies.
std::unordered_set<std::string_view> node_names(const Graph& graph) {
  std::unordered_set<std::string_view> names;
  for (const NodeId node : graph.nodes()) {
    names.insert(graph.node(node).name);
    for (const NodeId inner : graph.body_nodes(node)) names.insert(graph.node(inner).name);
  }
  for (const NodeId node : graph.constants()) names.insert(graph.node(node).name);
  return names;
}

// The nodes of the verdicts that the model does not have, in the list's order.
std::vector<std::string> strangers(const std::unordered_set<std::string_view>& names,
                                   const SupportList& list) {
  std::vector<std::string> strange;
  for (const auto* const rules : {&list.allow, &list.deny}) {
    for (const Rule& rule : *rules) {
      if (rule.is_exact_name && !names.contains(rule.node_name)) strange.push_back(rule.node_name);
    }
  }
  return strange;
}

}  // namespace

Diagnostics idle_list_warnings(const SplitInput& input) {
  Diagnostics warnings;
  for (const IdleList& idle : find_idle_lists(input.graph, input.lists)) {
    const SupportList& list = input.lists[idle.list];
    std::string ops;
    for (const UsedOp& op : idle.ops) {
      ops += (ops.empty() ? "" : ", ") + escaped_in_quotes(op_text(op.domain, op.op)) + " (" +
             counted(op.nodes, "node") + ")";
    }
    warnings.push_back(
        {.severity = Severity::warning,
         .file = list.path,
         .message = list.allow.empty() && list.patterns.empty()
                        ? "the list has no allow rule: it puts no node on the accelerator"
                        : "no rule of the list names an op of the model: it puts no "
                          "node on the accelerator",
         .notes = {"most of the model is " + ops}});
  }
  return warnings;
}

Diagnostics idle_verdict_warnings(const SplitInput& input) {
  constexpr std::size_t kMostNamed = 3;
  Diagnostics warnings;
  std::unordered_set<std::string_view> names;
  for (const SupportList& list : input.lists) {
    if (list.role != ListRole::verdicts) continue;
    if (names.empty()) names = node_names(input.graph);
    const std::vector<std::string> strange = strangers(names, list);
    if (strange.empty()) continue;
    warnings.push_back({.severity = Severity::warning,
                        .file = list.path,
                        .message = counted(strange.size(), "verdict is", "verdicts are") +
                                   " about nodes that the model does not have: " +
                                   capped_list(strange, kMostNamed, escaped_in_quotes, " ...")});
  }
  return warnings;
}

Diagnostics overruled_list_warnings(const std::vector<SupportList>& lists) {
  Diagnostics warnings;
  if (lists.size() < 2) return warnings;
  for (const SupportList& list : lists) {
    if (list.role != ListRole::any_of || !list.name.ends_with(kLearnedSuffix)) continue;
    warnings.push_back(diagnostic_of(
        list.path,
        "is a list that cleave lower learned, and a node that it denies is still accepted when "
        "another list accepts it. It has all rules of the list that it extends: give it alone, "
        "or add --all-of"));
  }
  return warnings;
}

Diagnostics near_miss_warnings(const SplitInput& input) {
  constexpr std::size_t kMostOfIdle = 3;  // of a list that has no op of the model: one says it
  Diagnostics warnings;
  std::map<std::size_t, std::size_t> told;
  for (const IdleList& idle : find_idle_lists(input.graph, input.lists)) told[idle.list] = 0;
  for (const NearMiss& miss : near_misses(input.graph, input.lists, input.facts)) {
    const SupportList& list = input.lists[miss.list];
    const auto idle = told.find(miss.list);
    if (idle != told.end() && idle->second++ >= kMostOfIdle) continue;
    const Rule rule = allowing_rules(list)[miss.rule];
    warnings.push_back({.severity = Severity::warning,
                        .file = list.path,
                        .line = rule.line,
                        .column = rule.column,
                        .message = "rule " + escaped_in_quotes(op_text(rule.domain, rule.op)) +
                                   " matches no node of the model: did you mean " +
                                   escaped_in_quotes(op_text(miss.domain, miss.op)) + "?"});
  }
  return warnings;
}

}  // namespace cleave
