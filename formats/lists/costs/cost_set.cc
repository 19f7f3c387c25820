#include "formats/lists/costs/cost_set.h"
#include "formats/base/io/side_file.h"

#include <algorithm>
#include <utility>

namespace cleave {
namespace {

std::vector<OpTime> first_op_times(std::span<const ModelCosts> files) {
  for (const ModelCosts& file : files) {
    if (!file.op_times.empty()) return file.op_times;
  }
  return {};
}

// Scales the estimates to what the profile leaves; returns what is then still in no node's time.
UnmatchedTime fit_to_profile(std::span<const ModelCosts> files, DeviceTimes& times) {
  auto left = unmatched_time(files);
  if (!left) return {};
  times = with_estimates_within(std::move(times), left->us);
  left->us = std::max(left->us - estimated_us(times), 0.0);
  return *left;
}

}  // namespace

MeasuredTargets measured_targets(const Graph& graph, const Machine& machine, const CostSet& costs,
                                 std::span<const Machine> later) {
  MeasuredTargets made{.times = target_times(graph, machine, costs.cpu_us, costs.acc_us)};
  made.cpu_unmatched = fit_to_profile(costs.cpu, made.times.cpu);
  made.acc_unmatched = fit_to_profile(costs.acc, made.times.acc);
  const PerNode<NodeCost> costs_of_nodes =
      later.empty() ? PerNode<NodeCost>() : node_costs(graph);  // once for all: they cost the most
  for (std::size_t i = 0; i < later.size(); ++i) {
    const bool is_measured = i < costs.later.size();
    made.times.later.push_back(device_times(costs_of_nodes, graph, later[i].acc,
                                            is_measured ? costs.later[i].us : MeasuredTimes()));
    if (is_measured) fit_to_profile(costs.later[i].files, made.times.later.back());
  }
  return made;
}

CostSource cost_source_of(std::string_view text, std::span<const std::string> targets) {
  for (std::size_t i = 0; i < targets.size(); ++i) {
    if (!text.starts_with(targets[i] + "=")) continue;
    return {CostTarget::acc, std::string(text.substr(targets[i].size() + 1)), i};
  }
  if (text.starts_with("cpu=")) return {CostTarget::cpu, std::string(text.substr(4))};
  if (text.starts_with("acc=")) return {CostTarget::acc, std::string(text.substr(4))};
  return {CostTarget::cpu, std::string(text)};
}

Loaded<std::vector<OpenCosts>> open_costs(std::span<const CostSource> sources) {
  std::vector<OpenCosts> files;
  for (const CostSource& from : sources) {
    auto source = open_side_file(from.path);
    if (!source) return std::move(source).error();
    files.push_back({from.target, *std::move(source), from.which});
  }
  return files;
}

Loaded<CostSet> read_cost_set(std::span<const CostSource> sources, const Graph& graph) {
  const auto files = open_costs(sources);
  if (!files) return files.error();
  return read_cost_set(*files, graph);
}

Loaded<CostSet> read_cost_set(std::span<const OpenCosts> files, const Graph& graph) {
  CostSet set;
  for (const OpenCosts& from : files) {
    auto costs = read_model_costs(from.file, graph);
    if (!costs) return std::move(costs).error();
    set.warnings.insert(set.warnings.end(), costs->warnings.begin(), costs->warnings.end());
    if (from.which > 0) {
      if (set.later.size() < from.which) set.later.resize(from.which);
      set.later[from.which - 1].files.push_back(*std::move(costs));
      continue;
    }
    (from.target == CostTarget::cpu ? set.cpu : set.acc).push_back(*std::move(costs));
  }
  for (TargetCosts& target : set.later) {
    target.us = merge_times(target.files);
    target.ops = first_op_times(target.files);
  }
  set.cpu_us = merge_times(set.cpu);
  set.acc_us = merge_times(set.acc);
  set.cpu_ops = first_op_times(set.cpu);
  set.acc_ops = first_op_times(set.acc);
  return set;
}

ShapeOverlay observed_shapes(const CostSet& costs) {
  ShapeOverlay shapes;
  for (const ObservedShape& shape : costs.inferred) shapes.add(shape.value, shape.dims);
  for (const auto* const files : {&costs.cpu, &costs.acc}) {
    for (const ModelCosts& file : *files) {
      for (const ObservedShape& shape : file.shapes) shapes.add(shape.value, shape.dims);
    }
  }
  for (const TargetCosts& target : costs.later) {
    for (const ModelCosts& file : target.files) {
      for (const ObservedShape& shape : file.shapes) shapes.add(shape.value, shape.dims);
    }
  }
  return shapes;
}

}  // namespace cleave
