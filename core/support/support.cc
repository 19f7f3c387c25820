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
#include <optional>
#include <span>
#include <unordered_map>

#include "core/support/accepting_rule.h"
#include "core/support/glob.h"
#include "core/support/match_limit.h"
#include "core/support/overlay.h"
#include "core/support/rule_check.h"
#include "core/support/rule_filter.h"
#include "core/support/rules_by_op.h"

namespace cleave {
namespace {

// Rules of one list that name an op, by index, ascending. Many are filtered before they are held
// against a node.
struct NamedRules {
  RuleIndices all;
  std::optional<RuleFilter> filter = {};

  static NamedRules of(const std::vector<Rule>& rules, RuleIndices all) {
    constexpr std::size_t kMany = 32;
    NamedRules named{.all = std::move(all)};
    if (named.all.size() > kMany) named.filter.emplace(rules, named.all);
    return named;
  }
};

struct OpRules {
  NamedRules allow;
  NamedRules deny;
};

// True of a deny rule for nodes of some name, whatever their op.
bool is_for_names(const Rule& rule) { return rule.op.empty() && !rule.node_name.empty(); }

// One list's rules, indexed by op and by node name.
class RuleIndex {
 public:
  explicit RuleIndex(const SupportList& list)
      : list_(list),
        allow_(list.allow),
        deny_(list.deny, [](const Rule& rule) { return !is_for_names(rule); }) {
    for (std::uint32_t i = 0; i < list.deny.size(); ++i) {
      const Rule& rule = list.deny[i];
      if (!is_for_names(rule)) continue;
      if (is_glob(rule.node_name)) {
        deny_by_node_glob_.add(rule.node_name, i);
      } else {
        deny_by_node_[rule.node_name].push_back(i);
      }
    }
  }

  OpRules rules_of(std::string_view domain, std::string_view op) const {
    return {NamedRules::of(list_.allow, allow_.names(domain, op)),
            NamedRules::of(list_.deny, deny_.names(domain, op))};
  }

  // Deny rules for any op that name the node, ascending.
  RuleIndices deny_of(std::string_view node_name) const {
    RuleIndices found;
    if (!deny_by_node_glob_.empty()) found = deny_by_node_glob_.matches(node_name);
    if (deny_by_node_.empty()) return found;
    const auto exact = deny_by_node_.find(node_name);
    if (exact == deny_by_node_.end()) return found;
    found.insert(found.end(), exact->second.begin(), exact->second.end());
    std::sort(found.begin(), found.end());
    return found;
  }

  const SupportList& list() const { return list_; }

 private:
  const SupportList& list_;
  RulesByOp allow_, deny_;
  std::unordered_map<std::string_view, RuleIndices> deny_by_node_;
  GlobSet deny_by_node_glob_;
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

  // Rules that were held against a node until now.
  std::uint64_t checks() const { return checks_; }

  // Bodies are not looked at.
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
    const bool is_known = !rules.allow.all.empty();
    if (denying && (is_known || names_its_target(index.list().deny[*denying]))) {
      return refused(ReasonCode::denied, *denying);
    }
    if (!is_known) return refused(ReasonCode::no_rule, 0);
    const auto [rule, holds] = best_allowing(index.list(), rules.allow, node);
    if (!holds) return refused(ReasonCode::rule_failed, rule);
    return {.reason = {}, .list = list_index, .rule = rule};
  }

  // The first deny rule of the list that holds: of those for the node's op or for any op, and of
  // those for the node's name.
  std::optional<std::uint32_t> denying_rule(const RuleIndex& index, const NamedRules& by_op,
                                            NodeId node) {
    std::optional<std::uint32_t> denying =
        by_op.filter ? first_denying(index, by_op.filter->candidates(graph_, node, facts_), node)
                     : first_denying(index, by_op.all, node);
    const auto named = first_denying(index, index.deny_of(graph_.node(node).name), node);
    return named && (!denying || *named < *denying) ? named : denying;
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

  // The first rule that holds; else the one nearest to it.
  Allowing best_allowing(const SupportList& list, const NamedRules& named, NodeId node) {
    if (!named.filter) return nearest(list, named.all, node);
    for (const std::uint32_t i : named.filter->candidates(graph_, node, facts_)) {
      if (holds(list.allow[i], node)) return {i, true};
    }
    return nearest(list, std::span(named.all).first(std::min(named.all.size(), kMostCompared)),
                   node);
  }

  // The first rule that holds; else the one for the model's opset if there is one, with the fewest
  // conditions failed.
  Allowing nearest(const SupportList& list, std::span<const std::uint32_t> candidates,
                   NodeId node) {
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
    ++checks_;
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
  static constexpr std::size_t kMostCompared = 1000;  // rules, for the nearest of many

  const Graph& graph_;
  const OpFacts& facts_;
  std::vector<RuleIndex> lists_;
  std::vector<std::uint16_t> overlays_;  // indices in lists_
  std::unordered_map<std::uint64_t, std::vector<OpRules>> rules_;
  std::vector<FailedCondition> failed_;
  std::uint64_t checks_ = 0;
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
  return *match_support_within(graph, lists, facts, std::numeric_limits<std::uint64_t>::max());
}

std::optional<Support> match_support_within(const Graph& graph,
                                            const std::vector<SupportList>& lists,
                                            const OpFacts& facts, std::uint64_t most_checks) {
  Support support{NodeSet(graph.node_count()), PerNode<Reason>(graph.node_count())};
  Matcher matcher(graph, lists, facts);
  for (const NodeId node : graph.nodes()) {
    support.reasons[node] = matcher.judge(node);
    if (matcher.checks() > most_checks) return std::nullopt;
    if (support.reasons[node].code == ReasonCode::none) support.supported.insert(node);
  }
  return support;
}

}  // namespace cleave
