#include "core/measures/measures.h"

#include <algorithm>

#include "core/base/checked.h"
#include "core/cost/cost.h"

namespace cleave {
namespace {

bool has_unknown_dim(const Graph& graph, ValueId value) {
  if (!graph.has_rank(value)) return true;
  const Shape shape = graph.shape(value);
  return std::any_of(shape.begin(), shape.end(), [](Dim dim) { return !dim.is_fixed(); });
}

}  // namespace

Measures measure(const Graph& graph, const Partition& partition, const Boundaries& boundaries,
                 const Preview& preview, std::span<const Target> targets) {
  const Coverages& coverage = preview.coverage;
  Measures measures{.nodes = coverage.nodes,
                    .flops = coverage.flops,
                    .parameter_bytes = coverage.parameter_bytes};
  const auto is_unknown = [&](ValueId value) {
    return graph.value(value).is_tensor() && !value_bytes(graph, value);
  };
  for (const PartId part : partition.parts()) {
    if (!partition.is_acc(part)) {
      measures.cpu_nodes += partition.nodes(part).size();
      continue;
    }
    ++measures.acc_subgraphs;
    const PartNumbers& numbers = preview.parts[part];
    measures.boundary_bytes = saturating_add(
        measures.boundary_bytes, saturating_add(numbers.input_bytes, numbers.output_bytes));
    for (const auto values : {boundaries.inputs[part], boundaries.outputs[part]}) {
      if (std::any_of(values.begin(), values.end(), is_unknown)) measures.is_boundary_known = false;
    }
  }
  if (preview.bound) measures.qps = preview.bound->shared_qps;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const DeviceNumbersOfSplit& own = preview.by_device.devices[i];
    measures.targets.push_back({
        .name = targets[i].name,
        .nodes = {static_cast<double>(own.nodes), coverage.nodes.total},
        .flops = {own.flops, coverage.flops.total},
        .parameter_bytes = {static_cast<double>(own.parameter_bytes),
                            coverage.parameter_bytes.total},
        .parts = own.parts,
    });
  }
  return measures;
}

std::vector<ValueId> values_of_unknown_shape(const Graph& graph) {
  std::vector<ValueId> values;
  for (std::size_t i = 0; i < graph.value_count(); ++i) {
    const auto id = id_at<ValueId>(i);
    const Value& value = graph.value(id);
    const bool counts = value.kind == ValueKind::input || value.kind == ValueKind::node_output;
    if (counts && value.is_tensor() && has_unknown_dim(graph, id)) values.push_back(id);
  }
  return values;
}

}  // namespace cleave
