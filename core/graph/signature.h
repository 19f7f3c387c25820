// Signature: the dtypes that a node reads. Support of an operator may differ by signature.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "core/graph/graph.h"

namespace cleave {

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
