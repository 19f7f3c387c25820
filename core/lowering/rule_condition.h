// Rule condition: one thing that a rule may ask of a node, as learning tries it: "attribute layout is
// 1", "input 0 is int64", "input 0 has rank 5", "opset 9".
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/lowering/evidence.h"
#include "core/support/op_facts.h"
#include "core/support/rule.h"

namespace cleave {

struct RuleCondition {
  Rule rule;         // with this condition alone, and the op
  std::string text;  // to order conditions by
};

// Conditions that hold of at least one failed case of the op, each once, sorted by text: dtypes and
// ranks of inputs, values of attributes (their defaults where `facts` know them), opsets, and for
// attributes that are numbers, ranges that part what failed from what passed.
std::vector<RuleCondition> conditions_of(const OpName& op, std::span<const EvidenceCase> cases,
                                         const OpFacts& facts);

// False where both ask about the same thing, say two values of an attribute: a rule asks once.
bool may_be_combined(const Rule& one, const Rule& other);
// A rule that holds where both do. They may be combined.
Rule combined(const Rule& one, const Rule& other);

// True when the rule is for the node's op and all its conditions hold.
bool holds_of(const Rule& rule, const EvidenceCase& item, const OpFacts& facts);

}  // namespace cleave
