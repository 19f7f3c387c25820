// Signature: the dtypes that a node reads, by which supports of an op are told apart.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "core/graph/graph.h"

namespace cleave {

// The dtypes of a node's plain inputs; unknown: none, or no tensor. Trailing ones are left out.
struct Signature {
  std::vector<DType> args;
  std::vector<std::pair<std::string_view, DType>> kwargs;  // names are views into the graph
  auto operator<=>(const Signature&) const = default;
};

// Linear in the node's operands. What bodies capture and what stands inside lists is left out.
Signature signature_of(const Graph& graph, NodeId node);

}  // namespace cleave
