#include "core/support/gaps.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "core/graph/domain.h"
#include "core/support/gap_key.h"
#include "core/support/loosening.h"
#include "core/support/overlay.h"
#include "core/support/rule_check.h"
#include "core/support/support.h"

namespace cleave {
namespace {

Rule rule_for_op(const Graph& graph, NodeId node, const Signature& signature) {
  Rule rule;
  rule.op = graph.op(node);
  rule.domain = plain_domain(graph.domain(node));
  for (const DType dtype : signature.args) {
    MaybeTypes& types = rule.inputs.emplace_back();
    if (dtype != DType::unknown) types.emplace().add(dtype);
  }
  for (const auto& [name, dtype] : signature.kwargs) {
    if (dtype == DType::unknown) continue;
    rule.kwargs.emplace_back(name, TypeSet{}).second.add(dtype);
  }
  return rule;
}

// ---- gaps ----

class GapFinder {
 public:
  GapFinder(const Graph& graph, const std::vector<SupportList>& lists, const OpFacts& facts)
      : graph_(graph), lists_(lists), facts_(facts) {}

  void add(NodeId node, const Reason& reason) {
    switch (reason.code) {
      case ReasonCode::no_rule:
      case ReasonCode::pattern_failed:
        return add_op(node);
      case ReasonCode::rule_failed:
        if (reason.because != kNone<NodeId>) return;  // the body node has the gap
        return add_condition(node, reason);
      case ReasonCode::denied:
        return add_denied(node, reason);
      default:
        return;
    }
  }

  std::vector<GapFound> take() && { return std::move(found_); }

 private:
  // Adds the node to the gap with that key. Returns false when the gap is new; it then has only its
  // key.
  bool add_to(const std::string& key, NodeId node) {
    const auto [place, is_new] = places_.try_emplace(key, found_.size());
    if (is_new) found_.emplace_back().gap.key = key;
    found_[place->second].nodes.push_back(node);
    return !is_new;
  }

  Gap& new_gap(Gap::Kind kind, NodeId node) {
    Gap& gap = found_.back().gap;
    gap.kind = kind;
    gap.op = graph_.op(node);
    gap.domain = plain_domain(graph_.domain(node));
    gap.signature = signature_of(graph_, node);
    return gap;
  }

  std::string op_key(NodeId node) const {
    return std::string(plain_domain(graph_.domain(node))) + '\n' + std::string(graph_.op(node)) +
           '\n';
  }

  void add_op(NodeId node) {
    const Signature signature = signature_of(graph_, node);
    std::string key = "op\n" + op_key(node);
    for (const DType dtype : signature.args) key += std::string(dtype_name(dtype)) + ',';
    for (const auto& [name, dtype] : signature.kwargs) {
      key += std::string(name) + '=' + std::string(dtype_name(dtype)) + ',';
    }
    if (add_to(key, node)) return;
    new_gap(Gap::Kind::op, node).remedy = rule_for_op(graph_, node, signature);
  }

  void add_condition(NodeId node, const Reason& reason) {
    const Rule& rule = lists_[reason.list].allow[reason.rule];
    failed_.clear();
    find_failed_conditions(graph_, node, rule, facts_, failed_);
    std::vector<FailedPart> parts = failed_parts(graph_, node, rule, facts_);
    std::string key = "condition\n" + std::to_string(reason.list) + '\n' +
                      std::to_string(reason.rule) + '\n' + op_key(node);
    for (std::size_t i = 0; i < failed_.size(); ++i) append_key(failed_[i], parts[i], key);
    if (add_to(key, node)) return;
    Gap& gap = new_gap(Gap::Kind::condition, node);
    gap.list = reason.list;
    gap.rule = rule;
    gap.failed = std::move(parts);
    gap.remedy = loosened(graph_, node, rule, failed_, facts_);
  }

  void add_denied(NodeId node, const Reason& reason) {
    const Rule& rule = lists_[reason.list].deny[reason.rule];
    const std::string key = "denied\n" + std::to_string(reason.list) + '\n' +
                            std::to_string(rule.line) + '\n' + std::to_string(rule.column) + '\n' +
                            rule.op + '\n' + rule.node_name;
    if (add_to(key, node)) return;
    Gap& gap = new_gap(Gap::Kind::denied, node);
    gap.list = reason.list;
    gap.rule = rule;
  }

  const Graph& graph_;
  const std::vector<SupportList>& lists_;
  const OpFacts& facts_;
  std::unordered_map<std::string, std::size_t> places_;
  std::vector<GapFound> found_;
  std::vector<FailedCondition> failed_;
};

}  // namespace

std::vector<GapFound> find_gaps(const Graph& graph, const std::vector<SupportList>& lists,
                                const OpFacts& facts, const NodeSet& accepted) {
  GapFinder finder(graph, lists, facts);
  const Support support = match_support(graph, lists, facts);
  for (const NodeId node : graph.nodes()) {
    if (!accepted.contains(node)) finder.add(node, support.reasons[node]);
  }
  for (const auto& [node, reason] : refused_body_nodes(graph, lists, facts)) {
    finder.add(node, reason);
  }
  return std::move(finder).take();
}

void FilledLists::fill(const Gap& gap) {
  if (gap.kind != Gap::Kind::denied) {
    remedies_.allow.push_back(gap.remedy);
    return;
  }
  SupportList& list = lists_[gap.list];
  const bool was_overlay = is_overlay(list);
  list.deny.erase(std::find(list.deny.begin(), list.deny.end(), gap.rule));
  // An overlay without rules has no effect, as verdicts about no node; a list would accept nothing.
  if (was_overlay && list.deny.empty()) list.role = ListRole::verdicts;
}

std::vector<SupportList> FilledLists::with_remedies() const {
  std::vector<SupportList> lists = lists_;
  const std::vector<Rule>& rules = remedies_.allow;
  bool is_added = false;
  for (SupportList& list : lists) {
    if (list.role != ListRole::all_of || is_overlay(list)) continue;
    list.allow.insert(list.allow.end(), rules.begin(), rules.end());
    is_added = true;
  }
  if (!is_added) lists.push_back(remedies_);
  return lists;
}

}  // namespace cleave
