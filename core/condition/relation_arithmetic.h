// Arithmetic and comparison of the values of a relation's terms.
//
// A list and a number are combined element by element. Two lists are only compared, as wholes, with
// == and !=. Unknown operands follow three-valued logic: `false and unknown` is false. The result
// is also unknown when types do not fit, on division by zero and on overflow.
#pragma once

#include <optional>

#include "core/condition/relation.h"

namespace cleave {

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

// Whether the value is true: a number other than 0, or a list of such numbers. nullopt when it is
// unknown or a text.
std::optional<bool> truth_of(const RelationValue& value);
RelationValue truth_value(std::optional<bool> truth);

bool is_comparison(RelationTerm::Kind kind);
bool is_unknown(const RelationValue& value);

}  // namespace cleave
