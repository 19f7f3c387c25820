// The value of a node's attribute: the one that the node states, else the operator's default.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/condition/op_facts.h"
#include "core/graph/attribute.h"
#include "core/graph/graph.h"

namespace cleave {

// Implied attributes: the value of an attribute that an ONNX node does not state and for which the
// schema gives no default. For some, ONNX's documentation defines a value computed from ranks and
// shapes (`dilations`: a 1 for each spatial axis). An attribute added by a later opset has the
// value that keeps the earlier behaviour (`antialias`: 0).

// The value for an operator of ONNX's default domain; nullopt when there is none, or when it
// depends on an unknown rank or dim. Logarithmic in the table's size, and linear in the rank.
std::optional<AttributeValue> implied_attribute(const Graph& graph, NodeId node,
                                                std::string_view name);

// What the node states, else the default of the operator's schema, else the value that ONNX
// implies. nullopt when there is none of these, or when the value is
// not a number, a string or a list of these.
std::optional<AttributeValue> attribute_value(const Graph& graph, NodeId node,
                                              std::string_view name, const OpFacts& facts);

// Integers compare with reals as numbers, exactly: 1 equals 1.0, and 2^53 + 1 is not 2^53.
bool equal_values(const AttributeValue& a, const AttributeValue& b);

// A text to use as a key of tables. Equal values have equal texts; unequal values seldom do.
std::string value_key(const AttributeValue& value);

}  // namespace cleave
