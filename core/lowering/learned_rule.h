// Learned rules: deny rules that part the node cases that a backend refused from those that it took,
// as short as can be.
//
// For each op with a case that failed:
// 1. No case of it passed: the op is denied, in the opsets that were met.
// 2. One condition that holds of all failed cases and of no passed one; else two together; else
//    several such rules that cover the failed cases.
// 3. Cases that no such rule covers, and cases that both failed and passed, are denied by the name of
//    their nodes.
//
// Among rules of the same length the one that denies the fewest nodes wins, then the first by its
// text. Short is not the same as true: a rule on fewer than three failed cases is weak.
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
  Rule rule;                   // `why` is left to the report
  std::size_t conditions = 0;  // 0: the op as such, or names
  std::size_t failed = 0;      // cases of the op that failed alone and that the rule is for
  std::size_t passed = 0;      // cases of the op that passed; the rule holds of none
  // True of a rule with conditions, or by name, that few cases speak for.
  bool is_weak() const { return passed > 0 && failed < kStrongEvidence; }
};

// What learning is about: where rules apply, and what the format knows of its operators.
struct LearningContext {
  const Graph& graph;  // ties are decided by the nodes of it that a rule denies
  const OpFacts& facts;
};

// Sorted by op, then by text of the rule. Cost: for each op the square of its conditions (some tens)
// times its cases.
std::vector<LearnedRule> learn_rules(const Evidence& evidence, const LearningContext& context);

// Deny rules by name for nodes that fail only together with others: no condition on a node parts
// them. One rule a node.
std::vector<Rule> rules_by_name(const Graph& graph, std::span<const NodeId> nodes);

}  // namespace cleave
