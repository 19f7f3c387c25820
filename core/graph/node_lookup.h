// Lookup in a node: an operand by its position or keyword, an attribute by its name.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/graph/graph.h"

namespace cleave {

// The operand at that position or with that keyword, when it is a single value and not a list; null
// when there is none. By position: logarithmic in the node's operands; by keyword: linear.
const Operand* find_plain_input(const Graph& graph, NodeId node, std::uint32_t position);
const Operand* find_plain_keyword(const Graph& graph, NodeId node, std::string_view name);

// The attribute of that name that the node states; null when it states none. Linear.
const Attribute* find_attribute(const Graph& graph, NodeId node, std::string_view name);

}  // namespace cleave
