// Arithmetic and comparison of the values of a relation's terms.
//
// A list takes part with a number element by element; two lists of one length are compared as wholes
// with == and !=. What is unknown stays unknown, as in three-valued logic: `false and unknown` is
// false. Results are unknown, too, where types do not fit, on division by zero and on overflow.
#pragma once

#include <optional>

#include "core/condition/relation.h"

namespace cleave {

// Of + - * / % and the comparisons. Integers divide as in Python: towards minus infinity, the
// remainder with the divisor's sign.
RelationValue combined(RelationTerm::Kind kind, const RelationValue& a, const RelationValue& b);

// Of and, or.
RelationValue logical(RelationTerm::Kind kind, const RelationValue& a, const RelationValue& b);

// all(), any(), min(), max() and len() of the value. all() of an empty list is true.
RelationValue function_value(RelationTerm::Kind kind, const RelationValue& value);

// Both as one list.
RelationValue joined(const RelationValue& a, const RelationValue& b);

// list[index], also from the end with an index below 0.
RelationValue item_at(const RelationValue& list, const RelationValue& index);

// Whether the value is true: a number other than 0, or a list of such. nullopt: unknown, or a text.
std::optional<bool> truth_of(const RelationValue& value);
RelationValue truth_value(std::optional<bool> truth);

bool is_comparison(RelationTerm::Kind kind);
bool is_unknown(const RelationValue& value);

}  // namespace cleave
