#include "core/lists/lint.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <span>
#include <unordered_map>

#include "core/graph/graph.h"
#include "core/lists/condition.h"
#include "core/lists/support.h"

namespace cleave {

namespace {

// Whether the pattern matches everything that the other one matches. A star of the narrow pattern
// must be matched by a star of the wide one: it is read as a character, which a star or ? matches.
bool covers_glob(const std::string& wide, const std::string& narrow) {
  if (wide.empty() || wide == narrow || wide == "*") return true;
  if (narrow.empty() || !is_glob(wide)) return false;
  if (is_glob(narrow) && wide.find('?') != wide.npos) return false;
  return glob_match(wide, narrow);
}

bool is_subset(const TypeSet& narrow, const TypeSet& wide) {
  return (narrow.dtypes & ~wide.dtypes) == 0 &&
         (unsigned{narrow.value_types} & ~unsigned{wide.value_types}) == 0;
}

bool covers_types(const MaybeTypes& wide, const MaybeTypes& narrow) {
  return !wide || (narrow && is_subset(*narrow, *wide));
}

bool covers_positions(const std::vector<MaybeTypes>& wide, const std::vector<MaybeTypes>& narrow) {
  for (std::size_t i = 0; i < wide.size(); ++i) {
    if (!covers_types(wide[i], i < narrow.size() ? narrow[i] : MaybeTypes())) return false;
  }
  return true;
}

bool covers_kwargs(const Rule& wide, const Rule& narrow) {
  return std::ranges::all_of(wide.kwargs, [&](const auto& condition) {
    return std::ranges::any_of(narrow.kwargs, [&](const auto& other) {
      return other.first == condition.first && is_subset(other.second, condition.second);
    });
  });
}

// Whether the wide bounds hold for all numbers that the narrow ones, or values, let through.
bool covers_numbers(const Accepted& wide, const Accepted& narrow) {
  if (!narrow.one_of.empty()) {
    return std::ranges::all_of(narrow.one_of,
                               [&](const AttributeValue& value) { return accepts(wide, value); });
  }
  return wide.one_of.empty() && (!wide.min || (narrow.min && *narrow.min >= *wide.min)) &&
         (!wide.max || (narrow.max && *narrow.max <= *wide.max)) &&
         (!wide.multiple_of ||
          (narrow.multiple_of && *narrow.multiple_of % *wide.multiple_of == 0));
}

// True when the rest of both is the same, the place apart from inputs that may be left out.
bool covers_condition(const Condition& wide, const Condition& narrow) {
  const auto asks_where_given = [](const Condition& one) {
    return one.place.if_given || (one.is_clause && one.property != Property::given);
  };
  if (asks_where_given(narrow) && !asks_where_given(wide)) return false;
  if (wide.of != narrow.of || wide.place.position != narrow.place.position ||
      wide.axis != narrow.axis || wide.name != narrow.name) {
    return false;
  }
  if (wide == narrow) return true;
  // No outputs are not any outputs; and without numbers only the place may differ.
  const bool has_numbers = wide.wanted.has_number() || narrow.wanted.has_number();
  const bool is_elsewhere = !(wide.place == narrow.place) || wide.is_clause != narrow.is_clause;
  if (wide.property == Property::outputs_used || !(has_numbers || is_elsewhere)) return false;
  if (!covers_numbers(wide.wanted, narrow.wanted)) return false;
  Condition same = narrow;
  same.place.if_given = wide.place.if_given;
  same.is_clause = wide.is_clause;
  same.wanted.one_of = wide.wanted.one_of;
  same.wanted.min = wide.wanted.min;
  same.wanted.max = wide.wanted.max;
  same.wanted.multiple_of = wide.wanted.multiple_of;
  return same == wide;
}

bool covers_opset(const Rule& wide, const Rule& narrow) {
  if (!wide.opset) return true;
  if (!narrow.opset || wide.opset->same_schema != narrow.opset->same_schema) return false;
  if (wide.opset->same_schema) return wide.opset->lowest == narrow.opset->lowest;
  return wide.opset->lowest <= narrow.opset->lowest && wide.opset->highest >= narrow.opset->highest;
}

bool covers_name(const Rule& wide, const Rule& narrow) {
  if (wide.is_exact_name || narrow.is_exact_name) {
    return wide.node_name.empty() ||
           (wide.node_name == narrow.node_name && wide.is_exact_name == narrow.is_exact_name);
  }
  return covers_glob(wide.node_name, narrow.node_name);
}

// Whether each condition of the wide rule follows from one of the narrow rule.
bool covers_conditions(const Rule& wide, const Rule& narrow) {
  const auto& others = narrow.conditions;
  return std::ranges::all_of(wide.conditions, [&](const Condition& one) {
    return std::ranges::any_of(others, [&](const Condition& other) {
      return one.property == other.property && covers_condition(one, other);
    });
  });
}

}  // namespace

bool covers(const Rule& wide, const Rule& narrow) {
  const std::string_view domain = narrow.op.empty() ? "*" : std::string_view(narrow.domain);
  if (!wide.op.empty() && !is_in_domain(wide.domain, domain)) return false;
  if (!covers_glob(wide.op, narrow.op) || !covers_name(wide, narrow)) return false;
  return covers_types(wide.input_dtype, narrow.input_dtype) && covers_opset(wide, narrow) &&
         covers_positions(wide.inputs, narrow.inputs) &&
         covers_positions(wide.outputs, narrow.outputs) && covers_kwargs(wide, narrow) &&
         covers_conditions(wide, narrow);
}

namespace {

// Whether it asks for certain values of an attribute.
bool asks_for_values(const Condition& one) {
  return one.property == Property::attribute && !one.wanted.one_of.empty();
}

std::string key_of(const Condition& attribute, const AttributeValue& value) {
  return "attribute " + attribute.name + '\0' + value_key(value);
}

std::string key_of_node(const std::string& name) { return "node " + name; }

bool is_for_several_ops(const Rule& rule) { return rule.op.empty() || is_glob(rule.op); }

}  // namespace

// Indexes the rule by the first of these that it has: a node's name, values of an attribute, a glob
// for ops.
void CoverIndex::Group::add(const Rule& rule, std::uint32_t i) {
  if (!rule.node_name.empty()) {
    if (!rule.is_exact_name && is_glob(rule.node_name)) {
      return by_node_glob.add(rule.node_name, i);
    }
    return by_key[key_of_node(rule.node_name)].push_back(i);
  }
  const auto asks = std::ranges::find_if(rule.conditions, asks_for_values);
  if (asks != rule.conditions.end()) {
    std::set<std::string> keys;
    for (const AttributeValue& value : asks->wanted.one_of) keys.insert(key_of(*asks, value));
    for (const std::string& key : keys) by_key[key].push_back(i);
  } else if (is_glob(rule.op)) {
    by_op_glob.add(rule.op, i);
  } else {
    others.push_back(i);
  }
}

// A rule that asks for values of an attribute covers only those that ask for some of these.
template <class Covers>
std::optional<std::uint32_t> CoverIndex::Group::first(const Rule& rule, Covers covers_it) const {
  std::optional<std::uint32_t> best;
  const auto look = [&](std::span<const std::uint32_t> list) {
    const auto found = std::ranges::find_if(list, covers_it);
    if (found != list.end() && (!best || *found < *best)) best = *found;
  };
  const auto look_up = [&](const std::string& key) {
    if (const auto found = by_key.find(key); found != by_key.end()) look(found->second);
  };
  look(by_node_glob.matches(rule.node_name));
  look(by_op_glob.matches(rule.op));
  look_up(key_of_node(rule.node_name));
  for (const Condition& one : rule.conditions) {
    if (asks_for_values(one)) look_up(key_of(one, one.wanted.one_of.front()));
  }
  look(std::span(others).first(std::min(others.size(), kMostCompared)));
  return best;
}

CoverIndex::CoverIndex(const std::vector<Rule>& rules) : rules_(rules) {
  for (std::uint32_t i = 0; i < rules.size(); ++i) {
    (is_for_several_ops(rules[i]) ? of_several_ops_ : by_op_[rules[i].op]).add(rules[i], i);
  }
}

std::optional<std::uint32_t> CoverIndex::find_cover(const Rule& rule,
                                                    std::optional<std::uint32_t> self) const {
  const auto covers_it = [&](std::uint32_t i) {
    if (i == self || !covers(rules_[i], rule)) return false;
    return !self || i < *self || !covers(rule, rules_[i]);
  };
  if (const auto found = of_several_ops_.first(rule, covers_it)) return found;
  const auto same_op = by_op_.find(rule.op);
  if (same_op == by_op_.end()) return std::nullopt;
  return same_op->second.first(rule, covers_it);
}

// Two checks:
// 1. find_rule_faults(): each rule of a list against itself and the others;
// 2. RuleUse: the rules against the nodes of models.

namespace {

// An entry of "shapes" that asks for one rank, and another one or an axis beyond it of the same input.
std::string excluding_ranks(const Rule& rule) {
  std::map<std::uint32_t, std::int64_t> ranks;  // by input
  for (const Condition& one : rule.conditions) {
    if (!one.is_clause) continue;
    const std::string input = "input " + std::to_string(one.place.position);
    if (one.property == Property::rank) {
      const auto rank = std::get<std::int64_t>(one.wanted.one_of.front());
      const auto [known, is_new] = ranks.try_emplace(one.place.position, rank);
      if (is_new || known->second == rank) continue;
      return input + " cannot be of rank " + std::to_string(known->second) + " and of rank " +
             std::to_string(rank);
    }
    const auto known = ranks.find(one.place.position);
    if (one.property != Property::dim || known == ranks.end()) continue;
    if (axis_of(one.axis, static_cast<std::size_t>(known->second))) continue;
    return input + " of rank " + std::to_string(known->second) + " has no axis " +
           std::to_string(one.axis);
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
struct RulesOnOp {
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

  const RulesOnOp& rules_of(NodeId node) {
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
  std::unordered_map<std::uint64_t, RulesOnOp> by_op_;
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
    const RulesOnOp& rules = holder.rules_of(node);
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
  std::ranges::stable_sort(ops, std::ranges::greater{}, &Op::nodes);
  return ops;
}

}  // namespace cleave
