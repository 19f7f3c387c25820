// Evaluates a relation for a node, or for the nodes of a pattern.
//
// An attribute has its effective value (core/condition/attribute_value.h). If the node does not
// have an input, its `given` is 0 and its other properties are unknown. A dim that is not fixed is
// unknown, and so is what is computed from it. `scales` of a tensor that is not quantised is 0, and
// its `scale` and `zero_point` are unknown.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "core/condition/op_facts.h"
#include "core/condition/relation.h"
#include "core/graph/graph.h"

namespace cleave {

// Arithmetic and comparison of the values of a relation's terms.
//
// A list and a number are combined element by element. Two lists are only compared, as wholes, with
// == and !=. Unknown operands follow three-valued logic: `false and unknown` is false. The result
// is also unknown when types do not fit, on division by zero and on overflow.

// Applies + - * / % or a comparison. Integers divide as in Python: the quotient is rounded towards
// minus infinity, and the remainder has the divisor's sign.
RelationValue combined(RelationTerm::Kind kind, const RelationValue& a, const RelationValue& b);

// Applies `and` or `or`.
RelationValue logical(RelationTerm::Kind kind, const RelationValue& a, const RelationValue& b);

// all(), any(), min(), max() and len() of the value. all() of an empty list is true.
RelationValue function_value(RelationTerm::Kind kind, const RelationValue& value);

// One list of the items of both values.
RelationValue joined(const RelationValue& a, const RelationValue& b);

// list[index]; an index below 0 counts from the end.
RelationValue item_at(const RelationValue& list, const RelationValue& index);

// list[first:], the list from that item on; empty when it has no more items.
RelationValue tail_from(const RelationValue& list, const RelationValue& first);

// Whether the value is true: a number other than 0, or a list of such numbers. nullopt when it is
// unknown or a text.
std::optional<bool> truth_of(const RelationValue& value);
RelationValue truth_value(std::optional<bool> truth);

bool is_comparison(RelationTerm::Kind kind);
bool is_unknown(const RelationValue& value);

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
