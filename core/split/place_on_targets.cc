// Steps:
// 1. units: groups of all targets, ties by data that is no tensor, sets;
// 2. the placement problem of the graph (core/devices/graph_problem.h);
// 3. find_device_placement().
#include "core/split/place_on_targets.h"

#include <algorithm>
#include <utility>

#include "core/cost/cost.h"
#include "core/devices/energy.h"
#include "core/devices/graph_problem.h"
#include "core/devices/placement.h"
#include "core/split/node_groups.h"

namespace cleave {
namespace {

bool may_run_on_any(const TargetPlaceRequest& request, NodeId node) {
  return std::any_of(request.alone.begin(), request.alone.end(),
                     [&](const Fusions& alone) { return alone.acc.nodes.contains(node); });
}

bool makes_non_tensor(const Graph& graph, NodeId node) {
  const auto outputs = graph.outputs(node);
  return std::any_of(outputs.begin(), outputs.end(),
                     [&](ValueId output) { return !graph.value(output).is_tensor(); });
}

// What moves as one, of all nodes.
Fusions units_of_all(const Graph& graph, const TargetPlaceRequest& request) {
  NodeGroups joined(graph);
  for (const Fusions& alone : request.alone) {
    for (std::size_t i = 0; i < alone.group_count(); ++i) {
      joined.add_group(alone.group(id_at<GroupId>(i)));
    }
  }
  for (const auto& set : request.sets) joined.add_group(set);
  for (const NodeId node : graph.nodes()) {
    const bool is_tied = !request.allow_non_tensor && makes_non_tensor(graph, node) &&
                         may_run_on_any(request, node) && !graph.readers(node).empty();
    if (!is_tied) continue;
    for (const NodeId reader : graph.readers(node)) joined.tie(node, reader);
    joined.make_group(node);
  }
  return std::move(joined).settle_all();
}

// By target: with the parts that it may have at most.
std::vector<Machine> machines_of(const TargetPlaceRequest& request) {
  std::vector<Machine> machines;
  for (std::size_t i = 0; i < request.targets.size(); ++i) {
    Machine machine = request.latency.machine_with(i);
    const std::size_t most = request.targets[i].most_kept;
    machine.most_acc_parts = std::min(machine.most_acc_parts.value_or(most), most);
    machines.push_back(std::move(machine));
  }
  return machines;
}

PlacementProof proof_of(DeviceProof proof) {
  switch (proof) {
    case DeviceProof::bound:
      return PlacementProof::cut;
    case DeviceProof::exhaustive:
      return PlacementProof::exhaustive;
    case DeviceProof::none:
      break;
  }
  return PlacementProof::none;
}

}  // namespace

NodeRounds rounds_by_node(const Graph& graph, const Contraction& units, const Rounds& rounds) {
  NodeRounds by_node{rounds.devices, PerNode<std::uint32_t>(graph.node_count()),
                     rounds.least_acc_parts};
  for (const NodeId node : graph.nodes()) {
    by_node.part_of[node] = rounds.part_of[units.unit_of(node)];
  }
  return by_node;
}

TargetsPlaced place_on_targets(const Graph& graph, const TargetPlaceRequest& request) {
  const Fusions fusions = units_of_all(graph, request);
  const Contraction units(graph, fusions);
  PerNode<std::uint32_t> unit_of(graph.node_count());
  for (const NodeId node : graph.nodes()) unit_of[node] = units.unit_of(node);
  std::vector<NodeSet> accepted;
  for (const Fusions& alone : request.alone) accepted.push_back(alone.acc.nodes);
  NodeSet required = request.required == nullptr ? NodeSet(graph.node_count()) : *request.required;
  for (std::size_t target = 0; target < request.required_on.size(); ++target) {
    for (const NodeId node : request.required_on[target]) {
      if (!request.alone[target].acc.nodes.contains(node)) continue;
      required.insert(node);
      for (std::size_t other = 0; other < accepted.size(); ++other) {
        if (other != target) accepted[other].erase(node);
      }
    }
  }
  const std::vector<Machine> machines = machines_of(request);
  const GraphProblemInput input{
      .graph = graph,
      .unit_of = unit_of,
      .unit_count = units.unit_count(),
      .accepted = accepted,
      .required = &required,
      .times = request.latency.times,
      .machines = machines,
      .links = {request.latency.links.begin(), request.latency.links.end()},
      .residency = request.latency.residency};
  auto [problem, unknown_times, unknown_sizes] = graph_problem(input);
  if (!request.energy.empty()) {
    problem =
        energy_problem(std::move(problem), unit_work(input, node_costs(graph)), request.energy);
  }
  const DevicePlacement placement = find_device_placement(problem);
  TargetsPlaced placed;
  if (placement.score.penalty > 0) {
    const DeviceScore least = least_use(problem);
    placed.unfit = Unfit{.bytes = least.peak_bytes, .parts = least.parts};
  }
  const auto by_node = [&](const Devices& devices) {
    PerNode<DeviceIndex> device_of(graph.node_count());
    for (const NodeId node : graph.nodes()) device_of[node] = devices[unit_of[node]];
    return device_of;
  };
  placed.device_of = by_node(placement.devices);
  placed.rounds = rounds_by_node(graph, units, placement.rounds);
  if (!placement.without_limits.empty()) placed.without_limits = by_node(placement.without_limits);
  for (std::size_t i = 0; i < fusions.group_count(); ++i) {
    const auto members = fusions.group(id_at<GroupId>(i));
    placed.groups.emplace_back(members.begin(), members.end());
  }
  placed.numbers.total_us = placement.score.total;
  placed.numbers.bound_us = placement.bound;
  placed.numbers.proof = proof_of(placement.proof);
  placed.numbers.launches = placement.rounds.acc_parts;
  placed.numbers.unknown_times = unknown_times;
  placed.numbers.unknown_sizes = unknown_sizes;
  return placed;
}

}  // namespace cleave
