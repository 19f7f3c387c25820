#include "core/split/device_use.h"

#include <algorithm>

#include "core/cost/cost.h"
#include "core/devices/energy.h"
#include "core/devices/graph_problem.h"

namespace cleave {
namespace {

// The split as rounds of a problem in which each node is a unit.
struct SplitRounds {
  SplitRounds(const Graph& graph, const Partition& partition, std::size_t target_count)
      : unit_of(graph.node_count()),
        accepted(target_count, NodeSet(graph.node_count())),
        devices(graph.node_count(), static_cast<DeviceIndex>(target_count)) {
    rounds.part_of.resize(graph.node_count());
    for (const NodeId node : graph.nodes()) {
      unit_of[node] = index(node);
      const PartId part = partition.part_of[node];
      rounds.part_of[index(node)] = index(part);
      const TargetId target = partition.target(part);
      if (target == kNone<TargetId>) continue;
      accepted[index(target)].insert(node);
      devices[index(node)] = static_cast<DeviceIndex>(index(target));
    }
    for (const PartId part : partition.parts()) {
      const TargetId target = partition.target(part);
      const std::size_t device = target == kNone<TargetId> ? target_count : index(target);
      rounds.devices.push_back(static_cast<DeviceIndex>(device));
      for (const NodeId node : partition.nodes(part)) rounds.units.add(index(node));
      rounds.units.end_list();
    }
  }

  PerNode<std::uint32_t> unit_of;
  std::vector<NodeSet> accepted;
  Devices devices;
  Rounds rounds;
};

// By target: whether all tensors that its nodes read and make have a known size.
std::vector<bool> known_peaks(const Graph& graph, const Partition& partition,
                              std::size_t target_count) {
  std::vector<bool> are_known(target_count, true);
  const auto is_unknown = [&](ValueId value) {
    return graph.value(value).is_tensor() && !graph.is_parameter(value) &&
           !value_bytes(graph, value);
  };
  for (const NodeId node : graph.nodes()) {
    const TargetId target = partition.target(partition.part_of[node]);
    if (target == kNone<TargetId> || !are_known[index(target)]) continue;
    const auto operands = graph.operands(node);
    const auto outputs = graph.outputs(node);
    are_known[index(target)] =
        std::none_of(operands.begin(), operands.end(),
                     [&](const Operand& operand) { return is_unknown(operand.value); }) &&
        std::none_of(outputs.begin(), outputs.end(), is_unknown);
  }
  return are_known;
}

}  // namespace

std::vector<EnergyNumbers> energy_numbers(const LatencyInput& input) {
  std::vector<EnergyNumbers> numbers;
  for (std::size_t i = 0; i < input.target_count(); ++i) {
    const auto& energy = input.machine_with(i).acc.energy;
    if (!energy) return {};
    numbers.push_back(*energy);
  }
  if (!input.machine.cpu.energy) return {};
  numbers.push_back(*input.machine.cpu.energy);
  return numbers;
}

DeviceUse device_use(const Graph& graph, const Partition& partition, const LatencyInput& input) {
  const SplitRounds split(graph, partition, input.target_count());
  std::vector<Machine> machines;
  for (std::size_t i = 0; i < input.target_count(); ++i) machines.push_back(input.machine_with(i));
  // Where nodes are is settled, so that only their time on that device counts.
  NodeSet on_targets(graph.node_count());
  for (const NodeId node : graph.nodes()) {
    if (partition.is_acc(partition.part_of[node])) on_targets.insert(node);
  }
  const GraphProblemInput of_graph{.graph = graph,
                                   .unit_of = split.unit_of,
                                   .unit_count = graph.node_count(),
                                   .accepted = split.accepted,
                                   .required = &on_targets,
                                   .times = input.times,
                                   .machines = machines,
                                   .links = {input.links.begin(), input.links.end()},
                                   .residency = input.residency};
  const GraphProblem made = graph_problem(of_graph);
  const DeviceScorer scorer(made.problem);
  DeviceScore score = scorer.score(split.devices, split.rounds);
  for (const PartId part : partition.parts()) {
    if (!partition.is_acc(part)) score.part_costs[index(part)] += input.machine.cpu_launch_us;
  }
  DeviceUse use{.peak_bytes = score.peak_bytes,
                .is_peak_known = known_peaks(graph, partition, input.target_count()),
                .schedule = schedule_parts(split.rounds.devices,
                                           needed_parts(scorer.unit_readers(), split.rounds),
                                           score.part_costs)};
  const std::vector<EnergyNumbers> energy = energy_numbers(input);
  if (!energy.empty()) {
    const DeviceProblem drawn =
        energy_problem(made.problem, unit_work(of_graph, node_costs(graph)), energy);
    const DeviceScore of_energy = DeviceScorer(drawn).score(split.devices, split.rounds);
    for (std::size_t i = 0; i < energy.size(); ++i) {
      use.energy_mj.push_back(of_energy.unit_costs[i] + of_energy.link_costs[i] +
                              of_energy.launch_costs[i]);
    }
  }
  use.peak_bytes.pop_back();  // the host's, which is not counted
  return use;
}

}  // namespace cleave
