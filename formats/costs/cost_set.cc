#include "formats/costs/cost_set.h"
#include "formats/io/side_file.h"

#include <utility>

namespace cleave {
namespace {

// The shapes that the files saw. If several files saw the same value, the first file counts.
std::vector<ShapeOfValue> observed_shapes(Graph& graph, const CostSet& costs) {
  std::vector<ShapeOfValue> shapes;
  ValueSet seen(graph.value_count());
  std::vector<Dim> dims;
  for (const auto* const files : {&costs.cpu, &costs.acc}) {
    for (const ModelCosts& file : *files) {
      for (const ObservedShape& shape : file.shapes) {
        if (!seen.insert(shape.value)) continue;
        dims.clear();
        for (const std::int64_t size : shape.dims) dims.push_back(Dim::fixed(size));
        shapes.push_back({shape.value, GraphBuilder::add_shape(graph, dims)});
      }
    }
  }
  return shapes;
}

std::vector<OpTime> first_op_times(std::span<const ModelCosts> files) {
  for (const ModelCosts& file : files) {
    if (!file.op_times.empty()) return file.op_times;
  }
  return {};
}

}  // namespace

CostSource cost_source_of(std::string_view text) {
  if (text.starts_with("cpu=")) return {CostTarget::cpu, std::string(text.substr(4))};
  if (text.starts_with("acc=")) return {CostTarget::acc, std::string(text.substr(4))};
  return {CostTarget::cpu, std::string(text)};
}

Loaded<CostSet> read_cost_set(std::span<const CostSource> sources, const Graph& graph) {
  CostSet set;
  for (const CostSource& from : sources) {
    const auto source = open_side_file(from.path);
    if (!source) return source.error();
    auto costs = read_model_costs(*source, graph);
    if (!costs) return std::move(costs).error();
    set.warnings.insert(set.warnings.end(), costs->warnings.begin(), costs->warnings.end());
    (from.target == CostTarget::cpu ? set.cpu : set.acc).push_back(*std::move(costs));
  }
  set.cpu_us = merged_times(set.cpu);
  set.acc_us = merged_times(set.acc);
  set.cpu_ops = first_op_times(set.cpu);
  set.acc_ops = first_op_times(set.acc);
  return set;
}

void exchange_observed_shapes(Graph& graph, CostSet& costs) {
  if (costs.shapes.empty()) costs.shapes = observed_shapes(graph, costs);
  GraphBuilder::exchange_shapes(graph, costs.shapes);
}

}  // namespace cleave
