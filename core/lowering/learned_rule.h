// Learned rules: the shortest deny rules that separate the node cases that a backend refused from
// those that it accepted.
//
// For each op with a case that failed:
// 1. If no case of it passed, the op is denied, in the opsets that were seen.
// 2. Otherwise one condition that holds for all failed cases and for no passed one; else two
//    together; else several such rules that together cover the failed cases.
// 3. Cases that no such rule covers, and cases that both failed and passed, are denied by node
//    name.
//
// Among rules of the same length the one that denies the fewest nodes wins, then the first by its
// text. A short rule need not be true: a rule based on fewer than three failed cases is weak.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "core/lowering/evidence.h"
#include "core/support/support.h"

namespace cleave {

inline constexpr std::size_t kStrongEvidence = 3;

struct LearnedRule {
  Rule rule;                   // the report words `why`
  std::size_t conditions = 0;  // 0: the op as a whole, or names
  std::size_t failed = 0;      // cases of the op that failed alone and that the rule covers
  std::size_t passed = 0;      // cases of the op that passed; the rule matches none of them
  // True for a rule with conditions, or by name, that is based on few cases.
  bool is_weak() const { return passed > 0 && failed < kStrongEvidence; }
};

// The context of learning: where rules apply, and what the format knows about its operators.
struct LearningContext {
  const Graph& graph;  // of two rules, the one that denies fewer of its nodes wins
  const OpFacts& facts;
};

// Sorted by op, then by text of the rule. Cost: for each op the square of its conditions (some tens)
// times its cases.
std::vector<LearnedRule> learn_rules(const Evidence& evidence, const LearningContext& context);

// Deny rules by name for nodes that only fail together with others, so that no condition on a node
// describes them. One rule per node.
std::vector<Rule> rules_by_name(const Graph& graph, std::span<const NodeId> nodes);

}  // namespace cleave
