// RuleFilter: selects, from many rules for one op, those that may hold for a node. Rules that ask
// for values of an attribute are looked up by the node's value, so that those that ask for other
// values need not be checked.
//
//   rules                       node                  candidates
//   0  group: 1                 group 3, float32      1, 2
//   1  group: 2 or 3
//   2  dtype float32
#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/condition/op_facts.h"
#include "core/graph/graph.h"
#include "core/support/rule.h"
#include "core/support/rules_by_op.h"

namespace cleave {

class RuleFilter {
 public:
  // `of_op`: indices of rules for one op, ascending. Linear in the values that these rules list.
  RuleFilter(const std::vector<Rule>& rules, const RuleIndices& of_op);

  // The rules of `of_op` that may hold for the node, ascending; the others do not hold.
  RuleIndices candidates(const Graph& graph, NodeId node, const OpFacts& facts) const;

 private:
  using ByValue = std::unordered_map<std::string, RuleIndices>;

  std::map<std::string, ByValue> by_attribute_;
  RuleIndices others_;
};

}  // namespace cleave
