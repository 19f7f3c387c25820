#include "core/devices/energy.h"

#include <utility>

#include "core/cost/cost.h"

namespace cleave {

DeviceProblem energy_problem(DeviceProblem problem, std::span<const UnitWork> work,
                             std::span<const EnergyNumbers> devices) {
  const double host_byte = devices[problem.host()].pj_per_byte;
  for (std::size_t i = 0; i < problem.targets.size(); ++i) {
    DeviceTarget& target = problem.targets[i];
    const double of_byte = (devices[i].pj_per_byte + host_byte) * kMillijoulesPerPicojoule;
    target.down_cost = target.up_cost = of_byte;
    target.launch_cost = devices[i].mj_per_launch;
    target.duplex = Duplex::half;  // both directions draw, at the same time or not
  }
  for (DirectLink& link : problem.links) {
    if (link.cost <= 0) continue;
    link.cost =
        (devices[link.from].pj_per_byte + devices[link.to].pj_per_byte) * kMillijoulesPerPicojoule;
  }
  for (std::uint32_t unit = 0; unit < work.size(); ++unit) {
    for (std::size_t device = 0; device < problem.device_count(); ++device) {
      double& cost = problem.unit_costs[unit * problem.device_count() + device];
      if (cost < 0) continue;
      cost = (work[unit].flops * devices[device].pj_per_flop +
              work[unit].bytes * devices[device].pj_per_byte) *
             kMillijoulesPerPicojoule;
    }
  }
  return problem;
}

double all_cpu_mj(const Graph& graph, const EnergyNumbers& cpu) {
  const PerNode<NodeCost> costs = node_costs(graph);
  double flops = 0;
  double bytes = 0;
  for (const NodeId node : graph.nodes()) {
    flops += costs[node].flops.value_or(0);
    bytes += costs[node].bytes.value_or(0);
  }
  return (flops * cpu.pj_per_flop + bytes * cpu.pj_per_byte) * kMillijoulesPerPicojoule;
}

}  // namespace cleave
