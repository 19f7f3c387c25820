// What one node has: its attributes by name, and the dtypes of its inputs.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "core/graph/graph.h"

namespace cleave {

// The operand at that position or with that keyword, when it is a single value and not a list; null
// when there is none. By position: logarithmic in the node's operands; by keyword: linear.
const Operand* find_plain_input(const Graph& graph, NodeId node, std::uint32_t position);
const Operand* find_plain_keyword(const Graph& graph, NodeId node, std::string_view name);

// The attribute of that name that the node states; null when it states none. Linear.
const Attribute* find_attribute(const Graph& graph, NodeId node, std::string_view name);

// Signature: the dtypes that a node reads. Support of an operator may differ by signature.

// The dtypes of a node's plain inputs; unknown: no input, or not a tensor. Trailing ones are left
// out.
struct Signature {
  std::vector<DType> args;
  std::vector<std::pair<std::string_view, DType>> kwargs;  // names are views into the graph
  auto operator<=>(const Signature&) const = default;
};

// Linear in the node's operands. Leaves out captures of bodies and values inside lists.
Signature signature_of(const Graph& graph, NodeId node);

}  // namespace cleave
