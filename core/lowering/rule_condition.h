// Rule condition: one condition that a rule may set on a node, as learning tries it: "attribute
// layout is 1", "input 0 is int64", "input 0 has rank 5", "opset 9".
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/condition/op_facts.h"
#include "core/lowering/evidence.h"
#include "core/support/rule.h"

namespace cleave {

struct RuleCondition {
  Rule rule;         // with the op and this condition alone
  std::string text;  // conditions are sorted by it
};

// Conditions that hold for at least one failed case of the op, each once, sorted by text: dtypes
// and ranks of inputs, values of attributes (with the defaults that `facts` knows), opsets, and for
// number attributes ranges that separate the failed cases from the passed ones.
std::vector<RuleCondition> conditions_of(const OpName& op, std::span<const EvidenceCase> cases,
                                         const OpFacts& facts);

// False when both ask about the same thing, such as two values of an attribute: a rule can ask once
// only.
bool may_be_combined(const Rule& one, const Rule& other);
// A rule with the conditions of both, which may_be_combined().
Rule combined(const Rule& one, const Rule& other);

// True when the rule is for the node's op and all its conditions hold.
bool holds_of(const Rule& rule, const EvidenceCase& item, const OpFacts& facts);

}  // namespace cleave
