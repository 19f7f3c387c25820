// Loosening: the rule that accepts a node which another rule refuses, changed as little as can be.
#pragma once

#include <vector>

#include "core/graph/graph.h"
#include "core/support/op_facts.h"
#include "core/support/rule.h"
#include "core/support/rule_check.h"

namespace cleave {

// The rule for the node's op alone, without its place and its `why`, where each condition that
// failed asks for what the node has, or is left out when it was a bound. `failed` is what
// find_failed_conditions() gives for the node and the rule.
Rule loosened(const Graph& graph, NodeId node, const Rule& rule,
              const std::vector<FailedCondition>& failed, const OpFacts& facts);

}  // namespace cleave
