// Implied attributes: the value that an ONNX node has for an attribute which it does not state and
// for which the schema gives no default. ONNX's prose gives one for some, computed from ranks and
// shapes (`dilations`: a 1 for each spatial axis); an attribute that a later opset added has the
// value that keeps the earlier behaviour (`antialias`: 0).
#pragma once

#include <optional>
#include <string_view>

#include "core/graph/attribute.h"
#include "core/graph/graph.h"

namespace cleave {

// The value for an operator of ONNX's default domain; nullopt when there is none, or when it
// follows from a rank or a dim that is unknown. Logarithmic in the table's size, and linear in the rank.
std::optional<AttributeValue> implied_attribute(const Graph& graph, NodeId node,
                                                std::string_view name);

}  // namespace cleave
