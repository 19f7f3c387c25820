// Floating-point operations of one node, from its op type and shapes.
#pragma once

#include <optional>

#include "core/graph/graph.h"

namespace cleave {

// A multiply-add counts as 2. nullopt when the op is not in the table of op_flops.cc, or when a
// shape that its formula needs is unknown.
std::optional<double> op_flops(const Graph& graph, NodeId node);

// The FLOPs of all nodes; looks up each op type once.
PerNode<std::optional<double>> op_flops(const Graph& graph);

}  // namespace cleave
