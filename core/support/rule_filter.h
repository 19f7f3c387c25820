// RuleFilter: of many rules for one op, those that a node may meet. A rule that wants certain values
// of an attribute is looked up by the value that the node has, and not held against the node at all
// when that is another one.
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
  // `of_op`: indices of rules for one op, ascending. Linear in what these rules say.
  RuleFilter(const std::vector<Rule>& rules, const RuleIndices& of_op);

  // Those of `of_op` that may hold on the node, ascending; those left out do not hold.
  RuleIndices candidates(const Graph& graph, NodeId node, const OpFacts& facts) const;

 private:
  using ByValue = std::unordered_map<std::string, RuleIndices>;

  std::map<std::string, ByValue> by_attribute_;
  RuleIndices others_;
};

}  // namespace cleave
