// Two checks:
// 1. find_rule_faults(): each rule of a list against itself and the others;
// 2. RuleUse: the rules against the nodes of models.
#include "core/lint/support_lint.h"

#include <algorithm>
#include <array>
#include <unordered_map>

#include "core/graph/domain.h"
#include "core/lint/allowing_rules.h"
#include "core/lint/rule_cover.h"
#include "core/support/glob.h"
#include "core/support/rule_check.h"
#include "core/support/rules_by_op.h"
#include "core/support/support.h"

namespace cleave {
namespace {

std::string excluding_ranks(const Rule& rule) {
  for (std::size_t i = 0; i < rule.shapes.size(); ++i) {
    const ShapeRule& shape = rule.shapes[i];
    for (std::size_t j = 0; j < i; ++j) {
      const ShapeRule& other = rule.shapes[j];
      if (other.input == shape.input && other.rank && shape.rank && other.rank != shape.rank) {
        return "input " + std::to_string(shape.input) + " cannot be of rank " +
               std::to_string(*other.rank) + " and of rank " + std::to_string(*shape.rank);
      }
    }
    if (!shape.rank) continue;
    for (const auto& multiple : shape.multiple_of) {
      if (axis_of(multiple.first, static_cast<std::size_t>(*shape.rank))) continue;
      return "input " + std::to_string(shape.input) + " of rank " + std::to_string(*shape.rank) +
             " has no axis " + std::to_string(multiple.first);
    }
  }
  return {};
}

std::string empty_types(const std::vector<MaybeTypes>& positions, std::string_view what) {
  for (std::size_t i = 0; i < positions.size(); ++i) {
    if (positions[i] && positions[i]->dtypes == 0 && positions[i]->value_types == 0) {
      return std::string(what) + " " + std::to_string(i) + " accepts no dtype";
    }
  }
  return {};
}

// Why no node can match the rule; empty when one can.
std::string impossibility(const Rule& rule) {
  if (std::string text = excluding_ranks(rule); !text.empty()) return text;
  if (std::string text = empty_types(rule.inputs, "input"); !text.empty()) return text;
  return empty_types(rule.outputs, "output");
}

// The rules of a list that name one op.
struct OpRules {
  std::vector<RuleRef> rules;
  bool has_allow = false;
};

// Checks the nodes of one graph against the rules of a list.
class RuleHolder {
 public:
  RuleHolder(const Graph& graph, const OpFacts& facts, const SupportList& list)
      : graph_(graph),
        facts_(facts),
        list_(list),
        allowing_(allowing_rules(list)),
        allow_(list.allow),
        deny_(list.deny),
        all_allowing_(allowing_) {}

  const OpRules& rules_of(NodeId node) {
    const std::uint64_t key = std::uint64_t{index(graph_.node(node).domain)} << 32U |
                              std::uint64_t{index(graph_.node(node).op)};
    const auto [found, is_new] = by_op_.try_emplace(key);
    if (!is_new) return found->second;
    for (const bool is_deny : {false, true}) {
      const RulesByOp& rules = is_deny ? deny_ : allow_;
      for (const std::uint32_t i : rules.names(graph_.domain(node), graph_.op(node))) {
        found->second.rules.push_back({is_deny, i});
      }
    }
    found->second.has_allow = !all_allowing_.names(graph_.domain(node), graph_.op(node)).empty();
    return found->second;
  }

  void hold(NodeId node, RuleRef ref, RuleUse::Count& count) {
    const Rule& rule = (ref.is_deny ? list_.deny : list_.allow)[ref.index];
    if (!names_node(rule, graph_.node(node).name)) return;
    if (rule.input_dtype && !has_input_of(graph_, node, *rule.input_dtype)) return;
    ++count.named;
    failed_.clear();
    find_failed_conditions(graph_, node, rule, facts_, failed_);
    if (failed_.empty()) ++count.held;
    if (failed_.empty() || !count.failed.empty()) return;
    count.example = graph_.node(node).name;
    count.failed = failed_parts(graph_, node, rule, facts_);
  }

 private:
  const Graph& graph_;
  const OpFacts& facts_;
  const SupportList& list_;
  std::vector<Rule> allowing_;
  RulesByOp allow_, deny_;
  RulesByOp all_allowing_;  // ops of patterns, too
  std::unordered_map<std::uint64_t, OpRules> by_op_;
  std::vector<FailedCondition> failed_;
};

}  // namespace

std::string_view lint_kind_name(LintKind kind) {
  // In the order of the enumerators.
  static constexpr std::array<std::string_view, kLintKindCount> kNames = {
      "unknown_op",     "unknown_domain", "unknown_attribute", "unused_condition", "contradiction",
      "impossible",     "shadowed",       "never_matched",     "never_held",       "no_rule",
      "allows_nothing", "removed_op",     "absent_input",      "unchecked",        "unread"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::vector<RuleFault> find_rule_faults(const SupportList& list) {
  const CoverIndex allow(list.allow);
  const CoverIndex deny(list.deny);
  std::vector<RuleFault> faults;
  const auto examine = [&](const Rule& rule, RuleRef ref) {
    if (std::string why = impossibility(rule); !why.empty()) {
      faults.push_back({LintKind::impossible, ref, {}, std::move(why)});
      return;
    }
    if (!ref.is_deny) {
      if (const auto other = deny.find_cover(rule, std::nullopt)) {
        faults.push_back({LintKind::contradiction, ref, {true, *other}});
        return;
      }
    }
    if (const auto other = (ref.is_deny ? deny : allow).find_cover(rule, ref.index)) {
      faults.push_back({LintKind::shadowed, ref, {ref.is_deny, *other}});
    }
  };
  for (std::uint32_t i = 0; i < list.allow.size(); ++i) examine(list.allow[i], {false, i});
  for (std::uint32_t i = 0; i < list.deny.size(); ++i) examine(list.deny[i], {true, i});
  return faults;
}

std::vector<PatternLint> find_pattern_lint(const SupportList& list) {
  const CoverIndex allow(list.allow);
  const CoverIndex deny(list.deny);
  std::vector<PatternLint> faults;
  for (std::uint32_t i = 0; i < list.patterns.size(); ++i) {
    const std::size_t before = faults.size();
    bool is_covered = true;
    for (std::uint32_t op = 0; op < list.patterns[i].ops.size(); ++op) {
      const Rule& rule = list.patterns[i].ops[op];
      if (std::string why = impossibility(rule); !why.empty()) {
        faults.push_back({LintKind::impossible, i, op, 0, std::move(why)});
      } else if (const auto other = deny.find_cover(rule, std::nullopt)) {
        faults.push_back({LintKind::contradiction, i, op, *other});
      }
      is_covered = is_covered && allow.find_cover(rule, std::nullopt).has_value();
    }
    if (is_covered && faults.size() == before) faults.push_back({LintKind::shadowed, i});
  }
  return faults;
}

RuleUse::RuleUse(const SupportList& list)
    : list_(list),
      allow_(list.allow.size()),
      deny_(list.deny.size()),
      matches_(list.patterns.size()) {}

void RuleUse::add(const Graph& graph, const OpFacts& facts) {
  RuleHolder holder(graph, facts, list_);
  const auto add_node = [&](NodeId node) {
    const OpRules& rules = holder.rules_of(node);
    for (const RuleRef rule : rules.rules) {
      holder.hold(node, rule, (rule.is_deny ? deny_ : allow_)[rule.index]);
    }
    if (!rules.has_allow) note_missing(graph, node);
  };
  for (const NodeId node : graph.nodes()) {
    add_node(node);
    for (const NodeId inner : graph.body_nodes(node)) add_node(inner);
  }
  if (list_.patterns.empty()) return;
  const Support support = match_support(graph, {list_}, facts);
  for (const PatternMatch& match : support.patterns.matches) ++matches_[match.pattern];
}

void RuleUse::note_missing(const Graph& graph, NodeId node) {
  const std::string_view domain = plain_domain(graph.domain(node));
  const std::string_view op = graph.op(node);
  const auto [place, is_new] =
      missing_.try_emplace({std::string(domain), std::string(op)}, without_rule_.size());
  if (is_new) {
    without_rule_.push_back(
        {std::string(domain), std::string(op), 0, std::string(graph.node(node).name)});
  }
  ++without_rule_[place->second].nodes;
}

std::vector<RuleUse::Op> RuleUse::ops_without_rule() const {
  std::vector<Op> ops = without_rule_;
  std::stable_sort(ops.begin(), ops.end(),
                   [](const Op& a, const Op& b) { return a.nodes > b.nodes; });
  return ops;
}

}  // namespace cleave
