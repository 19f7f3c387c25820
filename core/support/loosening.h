// Loosening: changes a rule that refuses a node as little as possible, so that it accepts the node.
#pragma once

#include <vector>

#include "core/condition/op_facts.h"
#include "core/graph/graph.h"
#include "core/support/rule.h"
#include "core/support/rule_check.h"

namespace cleave {

// The rule for the node's op alone, without its position and its `why`. Each condition that failed
// now asks for what the node has, or is left out when it was a bound. `failed` is the result of
// find_failed_conditions() for the node and the rule.
Rule loosened(const Graph& graph, NodeId node, const Rule& rule,
              const std::vector<FailedCondition>& failed, const OpFacts& facts);

}  // namespace cleave
