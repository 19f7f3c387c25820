// Condition check: whether a condition holds for a node, and what the node has when it does not.
#pragma once

#include <optional>

#include "core/condition/condition.h"
#include "core/condition/found.h"
#include "core/condition/op_facts.h"
#include "core/graph/graph.h"

namespace cleave {

// What the node has instead of what the condition asks for; nullopt when the condition holds.
// Linear in the node's operands and in the elements of constants that the condition looks at.
std::optional<FoundInstead> find_instead(const Graph& graph, NodeId node,
                                         const Condition& condition, const OpFacts& facts);

}  // namespace cleave
