// Evaluates a relation for a node, or for the nodes of a pattern.
//
// An attribute has its effective value (core/condition/attribute_value.h). If the node does not
// have an input, its `given` is 0 and its other properties are unknown. A dim that is not fixed is
// unknown, and so is what is computed from it.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "core/condition/op_facts.h"
#include "core/condition/relation.h"
#include "core/graph/graph.h"

namespace cleave {

// Whether the relation is known to hold for the node. Linear in the terms, times the lengths of
// lists.
bool relation_holds(const Relation& relation, const Graph& graph, NodeId node,
                    const OpFacts& facts);
// The same for the nodes of a pattern, by op.
bool relation_holds(const Relation& relation, const Graph& graph, std::span<const NodeId> nodes,
                    const OpFacts& facts);

// Why a relation does not hold. If it is a chain of `and`, this is the first operand that is false,
// or the first unknown one when none is false. A failed comparison comes with the values of both
// sides.
struct RelationFailure {
  bool is_unknown = false;
  bool is_comparison = false;
  std::string part;           // the text of what fails or is unknown
  std::string sign;           // comparisons only: "=="
  RelationValue left, right;  // comparisons only
  bool operator==(const RelationFailure&) const = default;
};
RelationFailure relation_failure(const Relation& relation, const Graph& graph, NodeId node,
                                 const OpFacts& facts);
RelationFailure relation_failure(const Relation& relation, const Graph& graph,
                                 std::span<const NodeId> nodes, const OpFacts& facts);

}  // namespace cleave
