// Costs of nodes: floating-point operations, bytes moved; and sizes of values and parameters.
#pragma once

#include <cstdint>
#include <optional>

#include "core/graph/graph.h"

namespace cleave {

// Bytes of a tensor value; nothing for a non-tensor, or while a dim or the dtype is not known.
std::optional<std::uint64_t> value_bytes(const Graph& graph, ValueId value);

struct NodeCost {
  std::optional<double> flops;  // a multiply-add counts as 2; nothing: the op or a shape is unknown
  // Tensor inputs, parameters, outputs, each once; of a table what is looked up in it; 0 for what
  // moves no data (Shape, Reshape, Identity, ...). Nothing: a size is unknown.
  std::optional<double> bytes;
};

// What the file measured, else the estimate from op type and shapes. Knows ONNX operators and the
// torch functions and modules that dominate real models; the table is in op_flops.cc, its
// sources in op_formulas.h.
NodeCost node_cost(const Graph& graph, NodeId node);

// The same of every node. Linear; quicker than asking node by node.
PerNode<NodeCost> node_costs(const Graph& graph);

// The FLOPs alone, of every node.
PerNode<std::optional<double>> node_flops(const Graph& graph);

}  // namespace cleave
