// How matching works:
// 1. For each distinct (domain, op) of the graph, find the rules that name it; globs are resolved
//    here.
// 2. Check each node against the conditions of those rules only.
//
// A list refuses in this order: a deny rule that names the op or the node; no allow rule that names
// the op; a deny rule by dtype; the conditions of the allow rules.
#include "core/support/support.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <optional>
#include <span>
#include <unordered_map>

#include "core/support/accepting_rule.h"
#include "core/support/match_limit.h"
#include "core/support/overlay.h"
#include "core/support/rule_check.h"
#include "core/support/rule_filter.h"
#include "core/support/rules_by_name.h"
#include "core/support/rules_by_op.h"

namespace cleave {
namespace {

// Rules of one list that name an op, by index, ascending. Rules for certain node names are looked
// up by name. If the others are many, they are filtered before they are checked on a node.
struct NamedRules {
  RuleIndices unnamed;  // for nodes of any name
  RulesByName by_name;
  std::optional<RuleFilter> filter = {};  // of `unnamed`

  static NamedRules of(const std::vector<Rule>& rules, const RuleIndices& all) {
    constexpr std::size_t kMany = 32;
    NamedRules named;
    for (const std::uint32_t i : all) {
      if (rules[i].node_name.empty()) {
        named.unnamed.push_back(i);
      } else {
        named.by_name.add(rules[i], i);
      }
    }
    if (named.unnamed.size() > kMany) named.filter.emplace(rules, named.unnamed);
    return named;
  }
};

struct OpRules {
  NamedRules allow;
  NamedRules deny;
};

// True for a rule for nodes of some name, whatever their op.
bool is_for_names(const Rule& rule) { return rule.op.empty() && !rule.node_name.empty(); }

// One list's rules, indexed by op and by node name.
class RuleIndex {
 public:
  explicit RuleIndex(const SupportList& list)
      : list_(list), allow_(list.allow, is_for_ops), deny_(list.deny, is_for_ops) {
    add_names(list.allow, allow_by_name_);
    add_names(list.deny, deny_by_name_);
  }

  OpRules rules_of(std::string_view domain, std::string_view op) const {
    return {NamedRules::of(list_.allow, allow_.names(domain, op)),
            NamedRules::of(list_.deny, deny_.names(domain, op))};
  }

  // Rules for any op that name the node, ascending.
  RuleIndices allow_of(std::string_view node_name) const {
    return allow_by_name_.matches(node_name);
  }
  RuleIndices deny_of(std::string_view node_name) const { return deny_by_name_.matches(node_name); }

  const SupportList& list() const { return list_; }

 private:
  static bool is_for_ops(const Rule& rule) { return !is_for_names(rule); }

  static void add_names(const std::vector<Rule>& rules, RulesByName& by_name) {
    for (std::uint32_t i = 0; i < rules.size(); ++i) {
      if (is_for_names(rules[i])) by_name.add(rules[i], i);
    }
  }

  const SupportList& list_;
  RulesByOp allow_, deny_;
  RulesByName allow_by_name_, deny_by_name_;
};

class Matcher {
 public:
  Matcher(const Graph& graph, const std::vector<SupportList>& lists, const OpFacts& facts)
      : graph_(graph), facts_(facts), lists_(lists.begin(), lists.end()) {
    for (std::size_t i = 0; i < lists.size(); ++i) {
      const auto list = static_cast<std::uint16_t>(i);
      if (lists[i].role == ListRole::verdicts) {
        verdicts_.push_back(list);
      } else if (is_overlay(lists[i])) {
        overlays_.push_back(list);
      } else {
        (lists[i].role == ListRole::all_of ? all_of_ : any_of_).push_back(list);
      }
    }
  }

  struct Verdict {
    Reason reason;           // code none: accepted by the rule below
    std::uint16_t list = 0;  // accepted only
    std::uint32_t rule = 0;
  };

  // The verdict on the node with its bodies; code none when it is supported.
  Verdict judge(NodeId node) {
    Verdict own = judge_alone(node);
    if (own.reason.code != ReasonCode::none) return own;
    for (const NodeId inner : graph_.body_nodes(node)) {
      if (judge_alone(inner).reason.code == ReasonCode::none) continue;
      own.reason = {
          .code = ReasonCode::rule_failed, .list = own.list, .rule = own.rule, .because = inner};
      break;
    }
    return own;
  }

  // The number of checks of a rule on a node so far.
  std::uint64_t checks() const { return checks_; }

  // The verdict without looking at bodies.
  Verdict judge_alone(NodeId node) {
    if (const auto settled = settled_verdict(node)) return *settled;
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
  // The verdict of the first list of verdicts that names the node; nullopt when none does.
  std::optional<Verdict> settled_verdict(NodeId node) const {
    const std::string_view name = graph_.node(node).name;
    for (const std::uint16_t i : verdicts_) {
      if (const RuleIndices deny = lists_[i].deny_of(name); !deny.empty()) {
        return Verdict{.reason = {.code = ReasonCode::denied, .list = i, .rule = deny.front()}};
      }
      if (const RuleIndices allow = lists_[i].allow_of(name); !allow.empty()) {
        return Verdict{.reason = {}, .list = i, .rule = allow.front()};
      }
    }
    return std::nullopt;
  }

  // The verdict of the lists that are neither overlays nor verdicts.
  Verdict judge_by_lists(const std::vector<OpRules>& rules, NodeId node) {
    Verdict refusal{.reason = {.code = ReasonCode::no_rule}};
    std::optional<Verdict> accepted;
    const auto weigh = [&](const Verdict& verdict) {
      if (rank(verdict.reason.code) > rank(refusal.reason.code)) refusal = verdict;
    };
    for (const std::uint16_t i : all_of_) {
      const Verdict verdict = judge_by(i, rules[i], node);
      if (verdict.reason.code != ReasonCode::none) return verdict;
      if (!accepted) accepted = verdict;
    }
    for (const std::uint16_t i : any_of_) {
      const Verdict verdict = judge_by(i, rules[i], node);
      if (verdict.reason.code == ReasonCode::none) return verdict;
      weigh(verdict);
    }
    return accepted && any_of_.empty() ? *accepted : refusal;
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
    const RuleIndices for_name = naming(rules.allow, index.allow_of(graph_.node(node).name), node);
    const bool is_known = !rules.allow.unnamed.empty() || !for_name.empty();
    if (denying && (is_known || names_its_target(index.list().deny[*denying]))) {
      return refused(ReasonCode::denied, *denying);
    }
    if (!is_known) return refused(ReasonCode::no_rule, 0);
    const auto [rule, holds] = best_allowing(index.list(), rules.allow, for_name, node);
    if (!holds) return refused(ReasonCode::rule_failed, rule);
    return {.reason = {}, .list = list_index, .rule = rule};
  }

  // The rules that name the node: `of_any_op`, and those among the rules for its op.
  RuleIndices naming(const NamedRules& of_op, RuleIndices of_any_op, NodeId node) const {
    if (of_op.by_name.empty()) return of_any_op;
    return merged(of_any_op, of_op.by_name.matches(graph_.node(node).name));
  }

  static RuleIndices merged(const RuleIndices& a, const RuleIndices& b) {
    RuleIndices all;
    all.reserve(a.size() + b.size());
    std::merge(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(all));
    return all;
  }

  // The first deny rule of the list that holds, among those for the node's op, for any op, and for
  // the node's name.
  std::optional<std::uint32_t> denying_rule(const RuleIndex& index, const NamedRules& by_op,
                                            NodeId node) {
    const std::optional<std::uint32_t> denying =
        by_op.filter ? first_denying(index, by_op.filter->candidates(graph_, node, facts_), node)
                     : first_denying(index, by_op.unnamed, node);
    const auto named =
        first_denying(index, naming(by_op, index.deny_of(graph_.node(node).name), node), node);
    return named && (!denying || *named < *denying) ? named : denying;
  }

  static bool names_its_target(const Rule& rule) {
    return !rule.op.empty() || !rule.node_name.empty();
  }

  std::optional<std::uint32_t> first_denying(const RuleIndex& index, const RuleIndices& candidates,
                                             NodeId node) {
    for (const std::uint32_t i : candidates) {
      const Rule& rule = index.list().deny[i];
      if (rule.input_dtype && !has_input_of(graph_, node, *rule.input_dtype)) continue;
      if (holds(rule, node)) return i;
    }
    return std::nullopt;
  }

  struct Allowing {
    std::uint32_t rule;
    bool holds;
  };

  // The first allow rule for the node that holds; if none does, the nearest one. `for_name` are the
  // rules for the node's name.
  Allowing best_allowing(const SupportList& list, const NamedRules& of_op,
                         const RuleIndices& for_name, NodeId node) {
    if (!of_op.filter) {
      if (for_name.empty()) return nearest(list, of_op.unnamed, node);
      return nearest(list, merged(of_op.unnamed, for_name), node);
    }
    for (const std::uint32_t i : merged(of_op.filter->candidates(graph_, node, facts_), for_name)) {
      if (holds(list.allow[i], node)) return {i, true};
    }
    const auto few = std::min(of_op.unnamed.size(), kMostCompared);
    const RuleIndices first(of_op.unnamed.begin(),
                            of_op.unnamed.begin() + static_cast<std::ptrdiff_t>(few));
    return nearest(list, merged(first, for_name), node);
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
  std::vector<std::uint16_t> verdicts_, overlays_, all_of_, any_of_;  // indices in lists_
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
    const auto verdict = matcher.judge(node);
    if (matcher.checks() > most_checks) return std::nullopt;
    support.reasons[node] = verdict.reason;
    if (verdict.reason.code != ReasonCode::none) continue;
    support.supported.insert(node);
    if (!lists[verdict.list].allow[verdict.rule].unchecked.empty()) {
      support.unchecked.push_back({node, verdict.list, verdict.rule});
    }
  }
  return support;
}

}  // namespace cleave
