// Steps for each op that failed:
// 1. if it never passed, deny the whole op;
// 2. list single conditions that hold for no passed case, and pairs of the others;
// 3. take the condition that covers most of the failed cases left, until none covers any;
// 4. deny the nodes that are left by name.
#include "core/lowering/learned_rule.h"

#include <algorithm>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "core/graph/domain.h"
#include "core/lowering/rule_condition.h"

namespace cleave {
namespace {

// With more conditions than this for an op, pairs are not tried: there are too many, and most that
// separate the cases would do so by chance.
constexpr std::size_t kMostPaired = 120;

struct Candidate {
  Rule rule;
  std::string text;
  std::size_t conditions = 1;
  std::vector<std::size_t> covered = {};  // failed cases that it covers
};

class OpLearner {
 public:
  OpLearner(const OpName& op, const Evidence& evidence, const LearningContext& context)
      : op_(op), context_(context), cases_(evidence.cases(op)) {
    for (std::size_t i = 0; i < cases_.size(); ++i) {
      if (cases_[i].passed) {
        passed_.push_back(i);
      } else if (cases_[i].failed) {
        failed_.push_back(i);
      }
    }
  }

  std::vector<LearnedRule> learn() {
    std::vector<LearnedRule> rules;
    if (passed_.empty()) {
      rules.push_back({.rule = whole_op(), .failed = failed_.size()});
      return rules;
    }
    std::vector<std::size_t> left = failed_;
    const std::vector<Candidate> candidates = candidates_for(left);
    while (!left.empty()) {
      const Candidate* best = best_of(candidates, left);
      if (best == nullptr) break;
      rules.push_back({.rule = best->rule,
                       .conditions = best->conditions,
                       .failed = best->covered.size(),
                       .passed = passed_.size()});
      std::vector<std::size_t> rest;
      std::set_difference(left.begin(), left.end(), best->covered.begin(), best->covered.end(),
                          std::back_inserter(rest));
      left = std::move(rest);
    }
    for (const std::size_t i : left) add_by_name(cases_[i], rules);
    for (const EvidenceCase& item : cases_) {
      if (item.failed && item.passed) add_by_name(item, rules);
    }
    return rules;
  }

 private:
  Rule whole_op() const {
    Rule rule;
    rule.domain = op_.first;
    rule.op = op_.second;
    for (const std::size_t i : failed_) {
      const Graph& graph = *cases_[i].graph;
      const auto opset = imported_opset(graph, graph.domain(cases_[i].node));
      if (!opset) continue;
      if (!rule.opset) rule.opset = OpsetRule{.lowest = *opset, .highest = *opset};
      rule.opset->lowest = std::min(rule.opset->lowest, *opset);
      rule.opset->highest = std::max(rule.opset->highest, *opset);
    }
    return rule;
  }

  void add_by_name(const EvidenceCase& item, std::vector<LearnedRule>& rules) const {
    Rule rule = rules_by_name(*item.graph, {{item.node}}).front();
    rules.push_back({.rule = std::move(rule), .failed = 1, .passed = passed_.size()});
  }

  bool holds(const Rule& rule, std::size_t i) const {
    return holds_of(rule, cases_[i], context_.facts);
  }

  bool holds_of_passed(const Rule& rule) const {
    return std::any_of(passed_.begin(), passed_.end(),
                       [&](std::size_t i) { return holds(rule, i); });
  }

  // Single conditions that hold for no passed case, and pairs of the other conditions.
  std::vector<Candidate> candidates_for(const std::vector<std::size_t>& failed) const {
    std::vector<Candidate> candidates;
    std::vector<RuleCondition> open;
    for (RuleCondition& condition : conditions_of(op_, cases_, context_.facts)) {
      if (holds_of_passed(condition.rule)) {
        open.push_back(std::move(condition));
      } else {
        candidates.push_back({std::move(condition.rule), std::move(condition.text)});
      }
    }
    for (std::size_t i = 0; i < open.size() && open.size() <= kMostPaired; ++i) {
      for (std::size_t k = i + 1; k < open.size(); ++k) {
        if (!may_be_combined(open[i].rule, open[k].rule)) continue;
        Rule rule = combined(open[i].rule, open[k].rule);
        if (holds_of_passed(rule)) continue;
        candidates.push_back({std::move(rule), open[i].text + " and " + open[k].text, 2});
      }
    }
    for (Candidate& candidate : candidates) {
      for (const std::size_t i : failed) {
        if (holds(candidate.rule, i)) candidate.covered.push_back(i);
      }
    }
    return candidates;
  }

  // The candidate that covers most of the rest; then the shortest, the one that denies the fewest
  // nodes, the first by its text. Null when none covers any.
  const Candidate* best_of(const std::vector<Candidate>& candidates,
                           const std::vector<std::size_t>& left) const {
    const Candidate* best = nullptr;
    std::tuple<std::size_t, std::size_t, std::size_t, std::string_view> best_rank;
    for (const Candidate& candidate : candidates) {
      const std::size_t missed = left.size() - covered_of(candidate, left);
      if (missed == left.size()) continue;
      if (best != nullptr && std::tuple(missed, candidate.conditions) >
                                 std::tuple(std::get<0>(best_rank), std::get<1>(best_rank))) {
        continue;
      }
      const std::tuple rank(missed, candidate.conditions, denied_nodes(candidate.rule),
                            std::string_view(candidate.text));
      if (best != nullptr && rank >= best_rank) continue;
      best = &candidate;
      best_rank = rank;
    }
    return best;
  }

  static std::size_t covered_of(const Candidate& candidate, const std::vector<std::size_t>& left) {
    return static_cast<std::size_t>(
        std::count_if(left.begin(), left.end(), [&candidate](std::size_t i) {
          return std::binary_search(candidate.covered.begin(), candidate.covered.end(), i);
        }));
  }

  std::size_t denied_nodes(const Rule& rule) const {
    std::size_t count = 0;
    for (const NodeId node : context_.graph.nodes()) {
      if (context_.graph.op(node) != op_.second) continue;
      count += holds_of(rule, {.graph = &context_.graph, .node = node}, context_.facts) ? 1U : 0U;
    }
    return count;
  }

  const OpName& op_;
  const LearningContext& context_;
  std::vector<EvidenceCase> cases_;
  std::vector<std::size_t> passed_, failed_;  // indices; a case that did both is in `passed_`
};

}  // namespace

std::vector<LearnedRule> learn_rules(const Evidence& evidence, const LearningContext& context) {
  std::vector<LearnedRule> rules;
  for (const OpName& op : evidence.failed_ops()) {
    for (LearnedRule& rule : OpLearner(op, evidence, context).learn()) {
      rules.push_back(std::move(rule));
    }
  }
  return rules;
}

std::vector<Rule> rules_by_name(const Graph& graph, std::span<const NodeId> nodes) {
  std::vector<Rule> rules;
  for (const NodeId node : nodes) {
    Rule rule;
    rule.domain = plain_domain(graph.domain(node));
    rule.op = graph.op(node);
    rule.node_name = graph.node(node).name;
    rules.push_back(std::move(rule));
  }
  return rules;
}

}  // namespace cleave
