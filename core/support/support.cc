// How matching works:
// 1. For each distinct (domain, op) of the graph, find the rules that name it; globs are resolved
//    here.
// 2. Check each node against the conditions of those rules only.
//
// A list refuses in this order: a deny rule that names the op or the node; no allow rule that names
// the op; a deny rule by dtype; the conditions of the allow rules.
#include "core/support/support.h"

#include <algorithm>
#include <limits>
#include <unordered_map>

#include "core/graph/domain.h"
#include "core/graph/torch_spelling.h"
#include "core/support/accepting_rule.h"
#include "core/support/glob.h"
#include "core/support/overlay.h"
#include "core/support/rule_check.h"

namespace cleave {
namespace {

using RuleIndices = std::vector<std::uint32_t>;

// The rules of one list that name an op, by index, ascending.
struct OpRules {
  RuleIndices allow;
  RuleIndices deny;
};

// One list's rules, indexed by op and by node name.
class RuleIndex {
 public:
  explicit RuleIndex(const SupportList& list) : list_(list) {
    for (std::uint32_t i = 0; i < list.allow.size(); ++i) add(allow_, list.allow[i].op, i);
    for (std::uint32_t i = 0; i < list.deny.size(); ++i) {
      const Rule& rule = list.deny[i];
      const bool names_one_node = !rule.node_name.empty() && !is_glob(rule.node_name);
      if (rule.op.empty() && names_one_node) {
        deny_by_node_[rule.node_name].push_back(i);
      } else {
        add(deny_, rule.op, i);
      }
    }
  }

  OpRules rules_of(std::string_view domain, std::string_view op) const {
    return {find(allow_, list_.allow, domain, op), find(deny_, list_.deny, domain, op)};
  }

  // Deny rules for any op with that node name.
  const RuleIndices* deny_of(std::string_view node_name) const {
    if (deny_by_node_.empty()) return nullptr;
    const auto found = deny_by_node_.find(node_name);
    return found == deny_by_node_.end() ? nullptr : &found->second;
  }

  const SupportList& list() const { return list_; }

 private:
  struct ByOp {
    std::unordered_map<std::string_view, RuleIndices> exact;
    RuleIndices patterns;  // globs, and rules for any op
  };

  static void add(ByOp& rules, const std::string& op, std::uint32_t i) {
    RuleIndices& to = op.empty() || is_glob(op) ? rules.patterns : rules.exact[op];
    to.push_back(i);
  }

  static RuleIndices find(const ByOp& by_op, const std::vector<Rule>& rules,
                          std::string_view domain, std::string_view op) {
    RuleIndices found;
    const auto in_domain = [&](const Rule& rule) {
      return plain_domain(rule.domain) == plain_domain(domain);
    };
    for (const std::string& spelling : torch_spellings(op)) {
      const auto exact = by_op.exact.find(spelling);
      if (exact == by_op.exact.end()) continue;
      for (const std::uint32_t i : exact->second) {
        if (is_torch_spelling(rules[i].domain, rules[i].op, op)) found.push_back(i);
      }
    }
    if (const auto exact = by_op.exact.find(op); exact != by_op.exact.end()) {
      for (const std::uint32_t i : exact->second) {
        if (in_domain(rules[i])) found.push_back(i);
      }
    }
    for (const std::uint32_t i : by_op.patterns) {
      const Rule& rule = rules[i];
      if (rule.op.empty() || (in_domain(rule) && glob_match(rule.op, op))) found.push_back(i);
    }
    std::sort(found.begin(), found.end());
    found.erase(std::unique(found.begin(), found.end()), found.end());
    return found;
  }

  const SupportList& list_;
  ByOp allow_;
  ByOp deny_;
  std::unordered_map<std::string_view, RuleIndices> deny_by_node_;
};

class Matcher {
 public:
  Matcher(const Graph& graph, const std::vector<SupportList>& lists, const OpFacts& facts)
      : graph_(graph), facts_(facts), lists_(lists.begin(), lists.end()) {
    for (std::size_t i = 0; i < lists.size(); ++i) {
      if (is_overlay(lists[i])) overlays_.push_back(static_cast<std::uint16_t>(i));
    }
  }

  // The verdict on the node with its bodies; code none when it is supported.
  Reason judge(NodeId node) {
    const Verdict own = judge_alone(node);
    if (own.reason.code != ReasonCode::none) return own.reason;
    for (const NodeId inner : graph_.body_nodes(node)) {
      if (judge_alone(inner).reason.code == ReasonCode::none) continue;
      return {
          .code = ReasonCode::rule_failed, .list = own.list, .rule = own.rule, .because = inner};
    }
    return {};
  }

  struct Verdict {
    Reason reason;           // code none: accepted by the rule below
    std::uint16_t list = 0;  // accepted only
    std::uint32_t rule = 0;
  };

  // The verdict without looking at bodies.
  Verdict judge_alone(NodeId node) {
    const std::vector<OpRules>& rules = rules_of(node);
    const Verdict verdict = judge_by_lists(rules, node);
    if (verdict.reason.code == ReasonCode::denied) return verdict;
    for (const std::uint16_t i : overlays_) {
      const auto rule = denying_rule(lists_[i], rules[i].deny, node);
      if (!rule) continue;
      // "No list knows the op" says more than a denial by dtype.
      const bool is_known = verdict.reason.code != ReasonCode::no_rule;
      if (!is_known && !names_its_target(lists_[i].list().deny[*rule])) continue;
      return {.reason = {.code = ReasonCode::denied, .list = i, .rule = *rule}};
    }
    return verdict;
  }

 private:
  // The verdict of the lists that are not overlays.
  Verdict judge_by_lists(const std::vector<OpRules>& rules, NodeId node) {
    Reason refusal{.code = ReasonCode::no_rule};
    for (std::size_t i = 0; i < lists_.size(); ++i) {
      if (is_overlay(lists_[i].list())) continue;
      const Verdict verdict = judge_by(static_cast<std::uint16_t>(i), rules[i], node);
      if (verdict.reason.code == ReasonCode::none) return verdict;
      if (rank(verdict.reason.code) > rank(refusal.code)) refusal = verdict.reason;
    }
    return {.reason = refusal};
  }

  static int rank(ReasonCode code) {
    if (code == ReasonCode::denied) return 2;
    return code == ReasonCode::rule_failed ? 1 : 0;
  }

  Verdict judge_by(std::uint16_t list_index, const OpRules& rules, NodeId node) {
    const RuleIndex& index = lists_[list_index];
    const auto refused = [&](ReasonCode code, std::uint32_t rule) {
      return Verdict{.reason = {.code = code, .list = list_index, .rule = rule}};
    };
    const std::optional<std::uint32_t> denying = denying_rule(index, rules.deny, node);
    const bool is_known = !rules.allow.empty();
    if (denying && (is_known || names_its_target(index.list().deny[*denying]))) {
      return refused(ReasonCode::denied, *denying);
    }
    if (!is_known) return refused(ReasonCode::no_rule, 0);
    const auto [rule, holds] = best_allowing(index.list(), rules.allow, node);
    if (!holds) return refused(ReasonCode::rule_failed, rule);
    return {.reason = {}, .list = list_index, .rule = rule};
  }

  // The first deny rule of the list that matches: one for the node's op, for any op, or for the
  // node's name.
  std::optional<std::uint32_t> denying_rule(const RuleIndex& index, const RuleIndices& by_op,
                                            NodeId node) {
    std::optional<std::uint32_t> denying = first_denying(index, by_op, node);
    if (const RuleIndices* by_name = index.deny_of(graph_.node(node).name)) {
      const auto named = first_denying(index, *by_name, node);
      if (named && (!denying || *named < *denying)) denying = named;
    }
    return denying;
  }

  static bool names_its_target(const Rule& rule) {
    return !rule.op.empty() || !rule.node_name.empty();
  }

  std::optional<std::uint32_t> first_denying(const RuleIndex& index, const RuleIndices& candidates,
                                             NodeId node) {
    for (const std::uint32_t i : candidates) {
      const Rule& rule = index.list().deny[i];
      if (!rule.node_name.empty() && !glob_match(rule.node_name, graph_.node(node).name)) continue;
      if (rule.input_dtype && !has_input_of(graph_, node, *rule.input_dtype)) continue;
      if (holds(rule, node)) return i;
    }
    return std::nullopt;
  }

  struct Allowing {
    std::uint32_t rule;
    bool holds;
  };

  // The first rule that holds; else the nearest one: one for the model's opset if there is any,
  // with the fewest failed conditions.
  Allowing best_allowing(const SupportList& list, const RuleIndices& candidates, NodeId node) {
    std::uint32_t best = candidates.front();
    std::size_t best_distance = std::numeric_limits<std::size_t>::max();
    for (const std::uint32_t i : candidates) {
      if (holds(list.allow[i], node)) return {i, true};
      const bool other_opset = failed_.back().what == FailedCondition::What::opset;
      const std::size_t distance = failed_.size() + (other_opset ? kOtherOpset : 0);
      if (distance >= best_distance) continue;
      best = i;
      best_distance = distance;
    }
    return {best, false};
  }

  // Leaves the failed conditions in failed_.
  bool holds(const Rule& rule, NodeId node) {
    failed_.clear();
    find_failed_conditions(graph_, node, rule, facts_, failed_);
    return failed_.empty();
  }

  // The rules for the node's op, by list.
  const std::vector<OpRules>& rules_of(NodeId node) {
    const std::uint64_t key = std::uint64_t{index(graph_.node(node).domain)} << 32U |
                              std::uint64_t{index(graph_.node(node).op)};
    const auto [found, is_new] = rules_.try_emplace(key);
    if (is_new) {
      for (const RuleIndex& list : lists_) {
        found->second.push_back(list.rules_of(graph_.domain(node), graph_.op(node)));
      }
    }
    return found->second;
  }

  static constexpr std::size_t kOtherOpset = 1U << 20U;

  const Graph& graph_;
  const OpFacts& facts_;
  std::vector<RuleIndex> lists_;
  std::vector<std::uint16_t> overlays_;  // indices in lists_
  std::unordered_map<std::uint64_t, std::vector<OpRules>> rules_;
  std::vector<FailedCondition> failed_;
};

}  // namespace

Reason match_node(const Graph& graph, NodeId node, const std::vector<SupportList>& lists,
                  const OpFacts& facts) {
  return Matcher(graph, lists, facts).judge_alone(node).reason;
}

std::optional<AcceptingRule> find_accepting_rule(const Graph& graph, NodeId node,
                                                 const std::vector<SupportList>& lists,
                                                 const OpFacts& facts) {
  const auto verdict = Matcher(graph, lists, facts).judge_alone(node);
  if (verdict.reason.code != ReasonCode::none) return std::nullopt;
  return AcceptingRule{verdict.list, verdict.rule};
}

std::vector<std::pair<NodeId, Reason>> refused_body_nodes(const Graph& graph,
                                                          const std::vector<SupportList>& lists,
                                                          const OpFacts& facts) {
  std::vector<std::pair<NodeId, Reason>> refused;
  Matcher matcher(graph, lists, facts);
  for (const NodeId owner : graph.nodes()) {
    for (const NodeId inner : graph.body_nodes(owner)) {
      const Reason reason = matcher.judge_alone(inner).reason;
      if (reason.code != ReasonCode::none) refused.emplace_back(inner, reason);
    }
  }
  return refused;
}

Support match_support(const Graph& graph, const std::vector<SupportList>& lists,
                      const OpFacts& facts) {
  Support support{NodeSet(graph.node_count()), PerNode<Reason>(graph.node_count())};
  Matcher matcher(graph, lists, facts);
  for (const NodeId node : graph.nodes()) {
    support.reasons[node] = matcher.judge(node);
    if (support.reasons[node].code == ReasonCode::none) support.supported.insert(node);
  }
  return support;
}

}  // namespace cleave
