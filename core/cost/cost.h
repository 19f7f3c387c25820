// Costs of nodes (floating-point operations, bytes moved) and sizes of values and parameters.
#pragma once

#include <cstdint>
#include <optional>

#include "core/graph/graph.h"

namespace cleave {

// Bytes of a tensor value; nullopt for a non-tensor, or when a dim or the dtype is unknown.
std::optional<std::uint64_t> value_bytes(const Graph& graph, ValueId value);

struct NodeCost {
  std::optional<double> flops;  // a multiply-add counts as 2; nullopt: the op or a shape is unknown
  // Bytes of tensor inputs, parameters and outputs, each once. When an op looks rows up in a table,
  // only these rows count. 0 for an op that moves no data (Shape, Reshape, Identity, ...); nullopt:
  // a size is unknown.
  std::optional<double> bytes;
};

// What the file measured, else the estimate from op type and shapes. Knows ONNX operators and the
// torch functions and modules that dominate real models; the table is in op_flops.cc, its sources
// in op_flops.h.
NodeCost node_cost(const Graph& graph, NodeId node);

// The costs of all nodes. Linear; quicker than asking node by node.
PerNode<NodeCost> node_costs(const Graph& graph);

// The FLOPs of all nodes.
PerNode<std::optional<double>> node_flops(const Graph& graph);

}  // namespace cleave
