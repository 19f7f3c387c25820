// The value of a node's attribute: the one that the node states, else the operator's default.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/condition/op_facts.h"
#include "core/graph/attribute.h"
#include "core/graph/graph.h"

namespace cleave {

// What the node states, else the default of the operator's schema, else the value that ONNX implies
// (core/condition/implied_attribute.h). nullopt when there is none of these, or when the value is
// not a number, a string or a list of these.
std::optional<AttributeValue> attribute_value(const Graph& graph, NodeId node,
                                              std::string_view name, const OpFacts& facts);

// Integers compare with reals as numbers, exactly: 1 equals 1.0, and 2^53 + 1 is not 2^53.
bool equal_values(const AttributeValue& a, const AttributeValue& b);

// A text to use as a key of tables. Equal values have equal texts; unequal values seldom do.
std::string value_key(const AttributeValue& value);

}  // namespace cleave
