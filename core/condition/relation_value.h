// What a relation is for a node: the value of each term.
//
// An attribute has its effective value (core/condition/attribute_value.h). A property of an input
// that the node does not have is unknown, but for `given`, which is 0. A dim that is not fixed is
// unknown, and so is what is computed from it.
#pragma once

#include <cstdint>
#include <string>

#include "core/condition/op_facts.h"
#include "core/condition/relation.h"
#include "core/graph/graph.h"

namespace cleave {

// Whether the relation is known to hold for the node. Linear in the terms, times the lengths of
// lists.
bool relation_holds(const Relation& relation, const Graph& graph, NodeId node,
                    const OpFacts& facts);

// Why a relation does not hold: of the operands of `and` the first that is false, else the first
// that is unknown. Of a comparison: the values of both its sides.
struct RelationFailure {
  bool is_unknown = false;
  bool is_comparison = false;
  std::string part;           // text of what fails; of what is unknown
  std::string sign;           // of a comparison: "=="
  RelationValue left, right;  // of a comparison
  bool operator==(const RelationFailure&) const = default;
};
RelationFailure relation_failure(const Relation& relation, const Graph& graph, NodeId node,
                                 const OpFacts& facts);

}  // namespace cleave
