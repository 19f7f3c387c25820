// Judges the nodes of a graph by support lists.
#include "core/lists/support.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "core/graph/graph.h"

namespace cleave {

// ---- support list ----

std::string_view part_limit_name(PartLimit limit) {
  static constexpr std::array<std::string_view, kPartLimitCount> kNames = {
      "max_nodes", "max_parameter_bytes", "max_inputs", "max_outputs", "max_activation_bytes"};
  return kNames[static_cast<std::size_t>(limit)];
}

bool is_of_bytes(PartLimit limit) {
  return limit == PartLimit::parameter_bytes || limit == PartLimit::activation_bytes;
}

std::optional<PartLimit> limit_exceeded(const LimitedCounts& counts, const PartLimits& limits) {
  for (std::size_t i = 0; i < kPartLimitCount; ++i) {
    const auto limit = static_cast<PartLimit>(i);
    if (limits[limit] && counts[limit] > *limits[limit]) return limit;
  }
  return std::nullopt;
}

namespace {

constexpr std::array<std::string_view, 2> kViews = {"model", "onnxruntime"};

}  // namespace

std::string_view graph_view_name(GraphView view) { return kViews[static_cast<std::size_t>(view)]; }

std::optional<GraphView> parse_graph_view(std::string_view name) {
  const auto* const found = std::ranges::find(kViews, name);
  if (found == kViews.end()) return std::nullopt;
  return static_cast<GraphView>(found - kViews.begin());
}

bool is_overlay(const SupportList& list) {
  return list.role != ListRole::verdicts && list.allow.empty() && list.patterns.empty() &&
         !list.deny.empty();
}

bool are_all_of(const std::vector<SupportList>& lists) {
  return std::ranges::any_of(lists,
                             [](const SupportList& list) { return list.role == ListRole::all_of; });
}

std::optional<GraphView> given_view(const std::vector<SupportList>& lists) {
  const auto given =
      std::ranges::find_if(lists, [](const SupportList& list) { return list.is_view_given; });
  return given == lists.end() ? std::nullopt : std::optional(given->view);
}

bool all_are_overlays(std::span<const SupportList> lists) {
  return !lists.empty() && std::ranges::all_of(lists, is_overlay);
}

// ---- support ----
//
// How matching works:
// 1. For each distinct (domain, op) of the graph, find the rules that name it; globs are resolved
//    here.
// 2. If lists have patterns, find their matches, and give up those with a node that is refused
//    all the same.
// 3. Check each node against the conditions of those rules only. The matches that are left accept
//    their nodes.
// 4. For nodes that only patterns name, find the pattern that comes nearest.
//
// A list refuses in this order: a deny rule that names the op or the node; no allow rule that names
// the op; a deny rule by dtype; the conditions of the allow rules.

namespace {

class Matcher {
 public:
  Matcher(const Graph& graph, std::span<const SupportList> lists, const OpFacts& facts)
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
    std::uint32_t rule = 0;  // an allow rule, or a pattern
    bool is_pattern = false;
  };

  // The verdict on the node with its bodies; code none when it is supported.
  Verdict judge(NodeId node) {
    Verdict own = judge_alone(node);
    if (own.reason.code == ReasonCode::no_rule && is_region(node)) own = verdict_of_body(node);
    if (own.reason.code != ReasonCode::none) return own;
    const NodeId inner = own.is_pattern ? kNone<NodeId> : refused_inner(node);
    if (inner == kNone<NodeId>) return own;
    own.reason = {
        .code = ReasonCode::rule_failed, .list = own.list, .rule = own.rule, .because = inner};
    return own;
  }

  // The number of checks so far.
  std::uint64_t checks() const {
    std::uint64_t steps = 0;
    for (const auto& [list, patterns] : patterns_) steps += patterns.steps();
    return checks_ + steps;
  }

  // Whether the list, an overlay or verdicts deny the node, or a node of its bodies is refused: then
  // no pattern of the list accepts it.
  bool is_denied(std::uint16_t list, NodeId node) {
    if (const auto settled = settled_verdict(node)) return settled->reason.code != ReasonCode::none;
    const std::vector<OpRules>& rules = rules_of(node);
    if (denying_rule(lists_[list], rules[list].deny, node)) return true;
    const bool by_overlay = std::ranges::any_of(overlays_, [&](std::uint16_t i) {
      return denying_rule(lists_[i], rules[i].deny, node).has_value();
    });
    return by_overlay || refused_inner(node) != kNone<NodeId>;
  }

  // Finds the matches of all patterns, and drops those in which a node is refused for another reason.
  // Ends early when checks() goes beyond `most_checks`.
  void find_patterns(std::uint64_t most_checks) {
    for (const auto* const group : {&all_of_, &any_of_}) {
      for (const std::uint16_t i : *group) {
        if (lists_[i].list().patterns.empty()) continue;
        if (checks() > most_checks) return;
        find_patterns_of(i, most_checks - checks());
      }
    }
    if (checks() > most_checks) return;
    std::vector<std::uint16_t> lists;
    for (const auto& [list, patterns] : patterns_) lists.push_back(list);
    matches_.give_up_refused(
        lists, [&](NodeId node) { return judge(node).reason.code != ReasonCode::none; });
  }

  // The matches that count.
  PatternMatches matches() const { return matches_.live(); }

  // The pattern that comes nearest to a node that no rule names, with what is in its way.
  std::optional<std::pair<PatternMatch, PatternMiss>> nearest_pattern(NodeId node,
                                                                      const Reason& reason) {
    std::optional<std::pair<PatternMatch, PatternMiss>> best;
    for (auto& [list, patterns] : patterns_) {
      if (steps_to_nearest_ > kMostStepsToNearest) return std::nullopt;
      if (lists_[list].list().role == ListRole::all_of && list != reason.list) continue;
      if (const auto given_up = matches_.given_up(list, node)) {
        return {{given_up->first, {.kind = PatternMiss::Kind::refused, .node = given_up->second}}};
      }
      const std::uint64_t before = patterns.steps();
      const auto denied = [&, at = list](NodeId other) { return is_denied(at, other); };
      const auto near = patterns.nearest(node, denied, taken_by(list));
      steps_to_nearest_ += patterns.steps() - before;
      if (!near || (best && best->second.placed >= near->miss.placed)) continue;
      best = {{list, near->pattern}, near->miss};
    }
    return best;
  }

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
      const bool is_known =
          verdict.reason.code != ReasonCode::no_rule || is_named_by_pattern(kAnyList, node);
      if (!is_known && !names_its_target(lists_[i].list().deny[*rule])) continue;
      return {.reason = {.code = ReasonCode::denied, .list = i, .rule = *rule}};
    }
    return verdict;
  }

 private:
  bool is_region(NodeId node) const {
    return facts_.is_region && !graph_.body_nodes(node).empty() &&
           facts_.is_region(graph_.op(node));
  }

  // That of the first node of the body, so far as it accepts.
  Verdict verdict_of_body(NodeId node) {
    const NodeId first = *graph_.body_nodes(node).begin();
    Verdict verdict = judge_alone(first);
    if (verdict.reason.code != ReasonCode::none) {
      verdict.reason = {.code = ReasonCode::rule_failed, .because = first};
    }
    return verdict;
  }

  // The first node of its bodies that is refused; kNone when there is none.
  NodeId refused_inner(NodeId node) {
    for (const NodeId inner : graph_.body_nodes(node)) {
      if (judge_alone(inner).reason.code != ReasonCode::none) return inner;
    }
    return kNone<NodeId>;
  }

  // Whether an op of a pattern names the node's op: of the list, or of any when it is kAnyList.
  bool is_named_by_pattern(std::uint32_t list, NodeId node) const {
    return std::ranges::any_of(patterns_, [&](const auto& of_list) {
      return (list == kAnyList || list == of_list.first) && of_list.second.names(node);
    });
  }

  // Nodes in a match of the list; one set for all lists of which one must accept a node.
  NodeSet& taken_by(std::uint16_t list) {
    const bool is_all_of = lists_[list].list().role == ListRole::all_of;
    return taken_.try_emplace(is_all_of ? list : kAnyList, graph_.node_count()).first->second;
  }

  void find_patterns_of(std::uint16_t list, std::uint64_t most_steps) {
    if (!ops_) ops_.emplace(graph_);
    auto& patterns =
        patterns_.emplace_back(list, ListPatterns(graph_, *ops_, lists_[list].list(), facts_))
            .second;
    patterns.find([&](NodeId node) { return is_denied(list, node); }, taken_by(list), most_steps,
                  [&](std::uint32_t pattern, std::span<const NodeId> nodes) {
                    matches_.add({list, pattern}, nodes);
                  });
  }

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
    return code == ReasonCode::rule_failed || code == ReasonCode::runtime_graph ? 1 : 0;
  }

  // The list's verdict. If the list is about the runtime's graph, that on what the node is there.
  Verdict judge_by(std::uint16_t list_index, const OpRules& rules, NodeId node) {
    if (lists_[list_index].list().view == GraphView::model) {
      return judge_by_rules(list_index, rules, node);
    }
    const NodeId host = facts_.runtime_host ? facts_.runtime_host(graph_, node) : kNone<NodeId>;
    if (host != kNone<NodeId>) {
      const Verdict verdict = judge_alone_by(list_index, host);
      const bool is_accepted = verdict.reason.code == ReasonCode::none;
      if (is_accepted && !is_denied(list_index, host)) return verdict;
      return {.reason = {.code = ReasonCode::runtime_graph, .list = list_index, .because = host}};
    }
    return judge_alone_by(list_index, node);
  }

  // A node that stays in the runtime's graph.
  Verdict judge_alone_by(std::uint16_t list_index, NodeId node) {
    const Verdict own = judge_by_rules(list_index, rules_of(node)[list_index], node);
    if (own.reason.code != ReasonCode::no_rule || !facts_.function_body) return own;
    const auto body = facts_.function_body(graph_, node);
    return body == nullptr ? own : verdict_of_function(list_index, *body);
  }

  // That of the first node of the body, so far as the list accepts all of them.
  Verdict verdict_of_function(std::uint16_t list_index, const FunctionBody& body) {
    const SupportList& list = lists_[list_index].list();
    Matcher inner(body.graph, {&list, 1}, body.facts);
    checks_ += list.allow.size() + list.deny.size();  // the index of the rules is made anew
    std::optional<Verdict> first;
    for (const NodeId node : body.graph.nodes()) {
      Verdict verdict = inner.judge(node);
      checks_ += inner.checks();
      inner.checks_ = 0;
      if (verdict.reason.code != ReasonCode::none) {
        return {.reason = {.code = ReasonCode::runtime_graph,
                           .list = list_index,
                           .rule = static_cast<std::uint32_t>(index(node))}};
      }
      verdict.list = list_index;
      if (!first) first = verdict;
    }
    return first ? *first : Verdict{.reason = {.code = ReasonCode::no_rule}};
  }

  Verdict judge_by_rules(std::uint16_t list_index, const OpRules& rules, NodeId node) {
    const RuleIndex& index = lists_[list_index];
    if (const auto match = matches_.live_match(list_index, node)) {
      return {.reason = {},
              .list = list_index,
              .rule = matches_.all().matches[*match].pattern,
              .is_pattern = true};
    }
    const auto refused = [&](ReasonCode code, std::uint32_t rule) {
      return Verdict{.reason = {.code = code, .list = list_index, .rule = rule}};
    };
    const std::optional<std::uint32_t> denying = denying_rule(index, rules.deny, node);
    const RuleIndices for_name = naming(rules.allow, index.allow_of(graph_.node(node).name), node);
    const bool is_known = !rules.allow.unnamed.empty() || !for_name.empty();
    const bool is_in_pattern = denying && is_named_by_pattern(list_index, node);
    if (denying && (is_known || is_in_pattern || names_its_target(index.list().deny[*denying]))) {
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

  // The first rule that holds. Else one that fails on a newer opset alone, since that is then all that is
  // asked for; else the one for the model's opset if there is one, with the fewest conditions failed, and of
  // these the one of which most hold.
  Allowing nearest(const SupportList& list, std::span<const std::uint32_t> candidates,
                   NodeId node) {
    std::uint32_t best = candidates.front();
    std::size_t best_distance = std::numeric_limits<std::size_t>::max();
    std::size_t most_asked = 0;
    for (const std::uint32_t i : candidates) {
      if (holds(list.allow[i], node)) return {i, true};
      const bool other_opset = failed_.back().what == FailedCondition::What::opset;
      const std::size_t distance = asks_only_for_newer(list.allow[i], node)
                                       ? 0
                                       : failed_.size() + (other_opset ? kOtherOpset : 0);
      const std::size_t asked = asked_by(list.allow[i]);
      if (distance > best_distance || (distance == best_distance && asked <= most_asked)) continue;
      best = i;
      best_distance = distance;
      most_asked = asked;
    }
    return {best, false};
  }

  // Whether the rule that was just checked, and left what failed in failed_, fails on a newer opset alone.
  bool asks_only_for_newer(const Rule& rule, NodeId node) const {
    if (failed_.size() != 1 || failed_.back().what != FailedCondition::What::opset) return false;
    const auto opset = opset_of(graph_, node, facts_);
    return opset && *opset < rule.opset->lowest;
  }

  // The conditions of the rule.
  static std::size_t asked_by(const Rule& rule) {
    const auto typed = [](const std::vector<MaybeTypes>& types) {
      return types.size() - static_cast<std::size_t>(std::ranges::count(types, MaybeTypes()));
    };
    return rule.conditions.size() + rule.kwargs.size() + typed(rule.inputs) + typed(rule.outputs);
  }

  // A rule is a check, and so is each term of its `where`.
  static std::uint64_t checks_of(const Rule& rule) {
    std::uint64_t checks = 1;
    for (const Condition& condition : rule.conditions) {
      checks += condition.relation.terms.size();
    }
    return checks;
  }

  // Leaves the failed conditions in failed_.
  bool holds(const Rule& rule, NodeId node) {
    checks_ += checks_of(rule);
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
        OpRules& rules =
            found->second.emplace_back(list.rules_of(graph_.domain(node), graph_.op(node)));
        for (NamedRules* const named : {&rules.allow, &rules.deny}) {
          if (named->filter) named->filter->keep_defaults(graph_, node, facts_);
        }
      }
    }
    return found->second;
  }

  // More conditions than a rule can have: a rule for another opset is the nearest only if there is
  // no other.
  static constexpr std::size_t kOtherOpset = 1U << 20U;
  static constexpr std::size_t kMostCompared = 1000;               // rules, for the nearest of many
  static constexpr std::uint64_t kMostStepsToNearest = 4'000'000;  // in search of near patterns
  static constexpr std::uint32_t kAnyList = 1U << 16U;             // no list has this number

  const Graph& graph_;
  const OpFacts& facts_;
  std::vector<RuleIndex> lists_;
  std::vector<std::uint16_t> verdicts_, overlays_, all_of_, any_of_;  // indices in lists_
  std::unordered_map<std::uint64_t, std::vector<OpRules>> rules_;
  std::vector<FailedCondition> failed_;
  std::uint64_t checks_ = 0;

  // Patterns.
  std::optional<NodesByOp> ops_;
  std::vector<std::pair<std::uint16_t, ListPatterns>> patterns_;  // by list
  std::unordered_map<std::uint32_t, NodeSet> taken_;              // by list, or kAnyList
  LiveMatches matches_;
  std::uint64_t steps_to_nearest_ = 0;
};

bool have_patterns(std::span<const SupportList> lists) {
  return std::ranges::any_of(lists, [](const SupportList& list) { return !list.patterns.empty(); });
}

// Gives nodes that no rule names, but a pattern, the reason why it does not match.
void explain_by_patterns(Matcher& matcher, Support& support) {
  for (std::uint32_t i = 0; i < support.reasons.size(); ++i) {
    Reason& reason = support.reasons[NodeId{i}];
    if (reason.code != ReasonCode::no_rule) continue;
    auto near = matcher.nearest_pattern(NodeId{i}, reason);
    if (!near) continue;
    auto& [pattern, miss] = *near;
    reason = {.code = ReasonCode::pattern_failed,
              .list = pattern.list,
              .rule = pattern.pattern,
              .size = static_cast<std::uint32_t>(support.misses.size())};
    const NodeId blamed = miss.kind == PatternMiss::Kind::read_outside ? miss.other : miss.node;
    if (blamed != NodeId{i}) reason.because = blamed;
    support.misses.push_back(std::move(miss));
  }
}

const std::string& unchecked_by(const SupportList& list, const UncheckedNode& node) {
  return node.is_pattern ? list.patterns[node.rule].unchecked : list.allow[node.rule].unchecked;
}

}  // namespace

Reason match_node(const Graph& graph, NodeId node, std::span<const SupportList> lists,
                  const OpFacts& facts) {
  return Matcher(graph, lists, facts).judge_alone(node).reason;
}

std::optional<AcceptingRule> find_accepting_rule(const Graph& graph, NodeId node,
                                                 std::span<const SupportList> lists,
                                                 const OpFacts& facts) {
  const auto verdict = Matcher(graph, lists, facts).judge_alone(node);
  if (verdict.reason.code != ReasonCode::none) return std::nullopt;
  return AcceptingRule{verdict.list, verdict.rule};
}

std::vector<std::pair<NodeId, Reason>> refused_body_nodes(const Graph& graph,
                                                          std::span<const SupportList> lists,
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

bool meet_constants(std::span<const SupportList> lists) {
  return std::ranges::all_of(lists,
                             [](const SupportList& list) { return list.view == GraphView::model; });
}

std::vector<NodeId> refused_constants(const Graph& graph, std::span<const SupportList> lists,
                                      const OpFacts& facts) {
  std::vector<NodeId> refused;
  if (graph.constants().empty() || !meet_constants(lists)) return refused;
  Matcher matcher(graph, lists, facts);
  for (const NodeId node : graph.constants()) {
    if (matcher.checks() > most_rule_checks(graph)) break;
    if (graph.operands(node).empty()) continue;  // states its value
    if (matcher.judge_alone(node).reason.code != ReasonCode::none) refused.push_back(node);
  }
  return refused;
}

Support match_support(const Graph& graph, const std::vector<SupportList>& lists,
                      const OpFacts& facts) {
  return *match_support_within(graph, lists, facts, std::numeric_limits<std::uint64_t>::max());
}

std::optional<Support> match_support_within(const Graph& graph, std::span<const SupportList> lists,
                                            const OpFacts& facts, std::uint64_t most_checks) {
  Support support{NodeSet(graph.node_count()), PerNode<Reason>(graph.node_count())};
  Matcher matcher(graph, lists, facts);
  if (have_patterns(lists)) {
    matcher.find_patterns(most_checks);
    if (matcher.checks() > most_checks) return std::nullopt;
    support.patterns = matcher.matches();
  }
  for (const NodeId node : graph.nodes()) {
    const auto verdict = matcher.judge(node);
    if (matcher.checks() > most_checks) return std::nullopt;
    support.reasons[node] = verdict.reason;
    if (verdict.reason.code != ReasonCode::none) continue;
    support.supported.insert(node);
    const UncheckedNode unchecked{node, verdict.list, verdict.rule, verdict.is_pattern};
    if (!unchecked_by(lists[verdict.list], unchecked).empty()) {
      support.unchecked.push_back(unchecked);
    }
  }
  if (have_patterns(lists)) explain_by_patterns(matcher, support);
  return support;
}

// ---- required nodes ----

RequiredNodes::RequiredNodes(const Graph& graph) {
  const auto add = [&](NodeId node, NodeId owner) {
    by_name_[graph.node(node).name].push_back(owner);
    by_op_[{graph.domain(node), graph.op(node)}].push_back(owner);
  };
  for (const NodeId node : graph.nodes()) {
    add(node, node);
    for (const NodeId inner : graph.body_nodes(node)) add(inner, node);
  }
}

std::vector<NodeId> RequiredNodes::of(const std::string& pattern) const {
  std::vector<NodeId> nodes;
  const auto take = [&](const std::vector<NodeId>& found) {
    nodes.insert(nodes.end(), found.begin(), found.end());
  };
  if (const auto found = by_name_.find(pattern); found != by_name_.end()) take(found->second);
  if (is_glob(pattern)) {
    for (const auto& [name, found] : by_name_) {
      if (glob_match(pattern, name)) take(found);
    }
  }
  const ParsedOp wanted = parse_op(pattern);
  for (const auto& [op, found] : by_op_) {
    if (names_op_anywhere(wanted, op.first, op.second)) take(found);
  }
  sort_unique(nodes);
  return nodes;
}

// ---- host shapes ----
//
// Steps:
// 1. find shape computations, front to back; denied nodes are not among them;
// 2. mark those that depend on the accelerator;
// 3. move each to the side of its readers, back to front.

namespace {

// A tensor with more elements is data.
// A shape has one number for each axis, and exporters join a few of them. 64 is twice the axes that any framework
// has: what is larger is not computed from shapes.
constexpr std::uint64_t kMostElements = 64;

enum class Kind : std::uint8_t {
  other,
  asks,      // reads a shape: a shape computation whatever its input
  asks_any,  // getattr: if the attribute is the shape
  computes,  // computes on its inputs; its output has at most as many elements
  makes,     // makes as many elements as its inputs' values say
};

Kind kind_of_key(std::string_view key) {
  static constexpr std::array<std::string_view, 9> kAsk = {
      "shape", "size", "dim", "ndim", "ndimension", "numel", "nelement", "symsize", "symnumel"};
  static constexpr std::array<std::string_view, 38> kCompute = {
      "gather",      "slice",      "concat",
      "squeeze",     "unsqueeze",  "cast",
      "identity",    "add",        "sub",
      "mul",         "div",        "mod",
      "min",         "max",        "neg",
      "abs",         "floor",      "ceil",
      "round",       "sqrt",       "pow",
      "sum",         "reduceprod", "reducesum",
      "reducemax",   "reducemin",  "reshape",
      "where",       "equal",      "less",
      "lessorequal", "greater",    "greaterorequal",
      "not",         "and",        "or",
      "split",       "transpose"};
  static constexpr std::array<std::string_view, 4> kMake = {"constantofshape", "range", "expand",
                                                            "tile"};
  const auto is_one_of = [&](const auto& keys) { return contains(keys, key); };
  if (is_one_of(kAsk)) return Kind::asks;
  if (key == "getattr") return Kind::asks_any;
  if (is_one_of(kCompute)) return Kind::computes;
  return is_one_of(kMake) ? Kind::makes : Kind::other;
}

// Finds shape computations, front to back.
class ShapeFinder {
 public:
  explicit ShapeFinder(const Graph& graph) : graph_(graph), found_(graph.node_count()) {}

  NodeSet run() && {
    for (const NodeId node : graph_.nodes()) {
      if (is_shape_computation(node)) found_.insert(node);
    }
    return std::move(found_);
  }

 private:
  // Looks up each op type once.
  Kind kind_of(NodeId node) {
    const Node& record = graph_.node(node);
    const std::uint64_t op = std::uint64_t{index(record.domain)} << 32U | index(record.op);
    const auto [kind, is_new] = kinds_.try_emplace(op, Kind::other);
    if (is_new && plain_domain(graph_.domain(node)).empty()) {
      kind->second = kind_of_key(op_key(graph_.op(node)));
    }
    return kind->second;
  }

  bool is_shape_computation(NodeId node) {
    const Kind kind = kind_of(node);
    const auto outputs = graph_.outputs(node);
    if (outputs.empty() || !graph_.body_nodes(node).empty()) return false;
    const auto is_scalar = [&](ValueId output) { return is_free_of_tensors(output); };
    const auto fits = [&](ValueId output) { return is_small(output, kind != Kind::makes); };
    if (std::ranges::all_of(outputs, is_scalar)) {
      return kind == Kind::asks || (kind == Kind::asks_any && asks_for_shape(node)) ||
             reads_shapes_only(node);
    }
    if (kind == Kind::other || kind == Kind::asks_any) return false;
    if (!std::ranges::all_of(outputs, fits)) return false;
    return kind == Kind::asks || reads_shapes_only(node);
  }

  // A size, an int, a list of them. A value of unknown type may hold a tensor.
  bool is_free_of_tensors(ValueId id) const {
    const Value& value = graph_.value(id);
    return !value.holds_tensor && (value.type == ValueType::scalar ||
                                   value.type == ValueType::tuple || value.type == ValueType::list);
  }

  // `trusting`: when the number of elements is unknown, a tensor of rank 0 or 1, or of unknown
  // rank, counts as small.
  bool is_small(ValueId id, bool trusting) const {
    if (is_free_of_tensors(id)) return true;
    if (!graph_.value(id).is_tensor()) return false;
    if (!graph_.has_rank(id)) return trusting;
    if (const auto count = element_count(graph_.shape(id))) return *count <= kMostElements;
    return trusting && graph_.shape(id).size() <= 1;
  }

  bool reads_shapes_only(NodeId node) const {
    bool reads_shape = false;
    for (const Operand& operand : graph_.operands(node)) {
      const Value& value = graph_.value(operand.value);
      if (value.kind == ValueKind::parameter && is_small(operand.value, false)) continue;
      if (value.kind != ValueKind::node_output || !found_.contains(value.producer)) return false;
      reads_shape = true;
    }
    return reads_shape;
  }

  bool asks_for_shape(NodeId node) const {
    const Attribute* what = find_attribute(graph_, node, "arg1");
    if (what == nullptr || what->type != AttributeType::string) return false;
    const std::string_view name = graph_.attribute_pools().strings_of(*what).front();
    return name == "shape" || name == "ndim";
  }

  const Graph& graph_;
  NodeSet found_;
  std::unordered_map<std::uint64_t, Kind> kinds_;  // by domain and op
};

// Moves shape computations to their users, back to front.
class ShapeFollower {
 public:
  ShapeFollower(const Graph& graph, const Support& support)
      : graph_(graph), listed_(support), from_acc_(graph.node_count()) {
    result_.nodes = ShapeFinder(graph).run();
    result_.support = support;
    for (const NodeId node : graph.nodes()) {
      if (support.reasons[node].code == ReasonCode::denied) result_.nodes.erase(node);
    }
  }

  HostShapes run() && {
    for (const NodeId node : graph_.nodes()) {
      if (result_.nodes.contains(node) && reads_from_acc(node)) from_acc_.insert(node);
    }
    for (std::size_t i = graph_.node_count(); i-- > 0;) {
      if (result_.nodes.contains(id_at<NodeId>(i))) follow(id_at<NodeId>(i));
    }
    return std::move(result_);
  }

 private:
  // Directly, or through other shape computations.
  bool reads_from_acc(NodeId node) const {
    for (const Operand& operand : graph_.operands(node)) {
      const Value& value = graph_.value(operand.value);
      if (value.kind != ValueKind::node_output) continue;
      const NodeId maker = value.producer;
      const bool is_shape = result_.nodes.contains(maker);
      if (is_shape ? from_acc_.contains(maker) : listed_.supported.contains(maker)) return true;
    }
    return false;
  }

  void follow(NodeId node) {
    const auto readers = graph_.readers(node);
    const auto on_cpu = std::ranges::find_if(
        readers, [&](NodeId reader) { return !result_.support.supported.contains(reader); });
    const bool some_on_acc = std::ranges::any_of(
        readers, [&](NodeId reader) { return result_.support.supported.contains(reader); });
    if (readers.empty()) {
      result_.nodes.erase(node);
    } else if (some_on_acc && (on_cpu == readers.end() || from_acc_.contains(node))) {
      if (result_.support.supported.insert(node)) ++result_.to_acc;
      result_.support.reasons[node] = {};
    } else {
      if (result_.support.supported.erase(node)) ++result_.to_cpu;
      result_.support.reasons[node] = {.code = ReasonCode::host_shape, .because = *on_cpu};
    }
  }

  const Graph& graph_;
  const Support& listed_;
  NodeSet from_acc_;
  HostShapes result_;
};

}  // namespace

HostShapes follow_shape_users(const Graph& graph, const Support& support) {
  return ShapeFollower(graph, support).run();
}

}  // namespace cleave
