// Implied attributes: the value of an attribute that an ONNX node does not state and for which the
// schema gives no default. For some, ONNX's documentation defines a value computed from ranks and
// shapes (`dilations`: a 1 for each spatial axis). An attribute added by a later opset has the
// value that keeps the earlier behaviour (`antialias`: 0).
#pragma once

#include <optional>
#include <string_view>

#include "core/graph/attribute.h"
#include "core/graph/graph.h"

namespace cleave {

// The value for an operator of ONNX's default domain; nullopt when there is none, or when it
// depends on an unknown rank or dim. Logarithmic in the table's size, and linear in the rank.
std::optional<AttributeValue> implied_attribute(const Graph& graph, NodeId node,
                                                std::string_view name);

}  // namespace cleave
