#include "core/lint/idle_list.h"

#include <algorithm>
#include <unordered_map>

#include "core/lint/allowing_rules.h"
#include "core/support/overlay.h"
#include "core/support/rules_by_op.h"

namespace cleave {
namespace {

constexpr std::size_t kMostOps = 3;

// The distinct ops of the graph, bodies included, in model order.
std::vector<UsedOp> used_ops(const Graph& graph) {
  std::vector<UsedOp> ops;
  std::unordered_map<std::uint64_t, std::size_t> places;
  const auto note = [&](NodeId node) {
    const std::uint64_t key = std::uint64_t{index(graph.node(node).domain)} << 32U |
                              std::uint64_t{index(graph.node(node).op)};
    const auto place = places.try_emplace(key, ops.size());
    if (place.second) ops.push_back({graph.domain(node), graph.op(node)});
    ++ops[place.first->second].nodes;
  };
  for (const NodeId node : graph.nodes()) {
    note(node);
    for (const NodeId inner : graph.body_nodes(node)) note(inner);
  }
  return ops;
}

bool names_any(const SupportList& list, const std::vector<UsedOp>& ops) {
  const std::vector<Rule> rules = allowing_rules(list);
  const RulesByOp allow(rules);
  return std::any_of(ops.begin(), ops.end(),
                     [&](const UsedOp& op) { return !allow.names(op.domain, op.op).empty(); });
}

}  // namespace

std::vector<IdleList> find_idle_lists(const Graph& graph, const std::vector<SupportList>& lists) {
  std::vector<UsedOp> ops = used_ops(graph);
  std::vector<IdleList> idle;
  if (ops.empty()) return idle;
  const bool has_others = !all_are_overlays(lists);
  for (std::size_t i = 0; i < lists.size(); ++i) {
    if (lists[i].role == ListRole::verdicts || (has_others && is_overlay(lists[i]))) continue;
    if (!names_any(lists[i], ops)) idle.push_back({static_cast<std::uint16_t>(i), {}});
  }
  if (idle.empty()) return idle;
  std::stable_sort(ops.begin(), ops.end(),
                   [](const UsedOp& a, const UsedOp& b) { return a.nodes > b.nodes; });
  ops.resize(std::min(ops.size(), kMostOps));
  for (IdleList& list : idle) list.ops = ops;
  return idle;
}

}  // namespace cleave
