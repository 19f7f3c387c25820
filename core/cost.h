// Costs of nodes: floating-point operations, bytes moved; and sizes of values and parameters.
#pragma once

#include <cstdint>
#include <optional>

#include "core/graph.h"

namespace cleave {

// Bytes of a tensor value; nothing for a non-tensor, or while a dim or the dtype is not known.
std::optional<std::uint64_t> value_bytes(const Graph& graph, ValueId value);

struct NodeCost {
  std::optional<double> flops;  // a multiply-add counts as 2; nothing: the op or a shape is unknown
  std::optional<double> bytes;  // tensor inputs + parameters + outputs, each once
};

// What the file measured, else the estimate from op type and shapes. Knows ONNX operators and the
// torch functions and modules that dominate real models; the table and its sources are in cost.cc.
NodeCost node_cost(const Graph& graph, NodeId node);

// The FLOPs alone, of every node. Linear; quicker than asking node by node.
PerNode<std::optional<double>> node_flops(const Graph& graph);

}  // namespace cleave
