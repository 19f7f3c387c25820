#include "core/cost.h"

#include <algorithm>
#include <vector>

#include "core/op_flops.h"

namespace cleave {
namespace {

// Tensors that the node reads and makes, and its own parameters, each once.
std::vector<ValueId> tensors_of(const Graph& graph, NodeId node) {
  std::vector<ValueId> tensors;
  const auto add = [&](ValueId value) {
    if (graph.value(value).is_tensor()) tensors.push_back(value);
  };
  for (const Operand& operand : graph.operands(node)) add(operand.value);
  for (const ValueId parameter : graph.module_parameters(node)) add(parameter);
  for (const ValueId output : graph.outputs(node)) add(output);
  std::sort(tensors.begin(), tensors.end());
  tensors.erase(std::unique(tensors.begin(), tensors.end()), tensors.end());
  return tensors;
}

std::optional<double> moved_bytes(const Graph& graph, NodeId node) {
  double total = 0;
  for (const ValueId tensor : tensors_of(graph, node)) {
    const auto bytes = value_bytes(graph, tensor);
    if (!bytes) return std::nullopt;
    total += static_cast<double>(*bytes);
  }
  return total;
}

}  // namespace

std::optional<std::uint64_t> value_bytes(const Graph& graph, ValueId value) {
  if (!graph.value(value).is_tensor() || !graph.has_rank(value)) return std::nullopt;
  return tensor_bytes(graph.value(value).dtype, graph.shape(value));
}

PerNode<std::optional<double>> node_flops(const Graph& graph) {
  PerNode<std::optional<double>> flops = op_flops(graph);
  for (const NodeId node : graph.nodes()) {
    const MeasuredCost* const measured = graph.measured_cost(node);
    if (measured != nullptr && measured->flops >= 0) flops[node] = measured->flops;
  }
  return flops;
}

NodeCost node_cost(const Graph& graph, NodeId node) {
  const MeasuredCost* measured = graph.measured_cost(node);
  NodeCost cost;
  if (measured && measured->flops >= 0) {
    cost.flops = measured->flops;
  } else {
    cost.flops = op_flops(graph, node);
  }
  if (measured && measured->bytes >= 0) {
    cost.bytes = measured->bytes;
  } else {
    cost.bytes = moved_bytes(graph, node);
  }
  return cost;
}

}  // namespace cleave
