// Energy as the cost of a placement: the same problem, with millijoules in place of microseconds.
// Found and scored like any other, so a report can have both.
#pragma once

#include <span>

#include "core/cost/device.h"
#include "core/devices/problem.h"
#include "core/graph/graph.h"

namespace cleave {

inline constexpr double kMillijoulesPerPicojoule = 1e-9;

// What a unit does, wherever it runs.
struct UnitWork {
  double flops = 0;
  double bytes = 0;  // that it reads and writes
};

// `work` is by unit, `devices` by device, the host last. A value that crosses is read from one
// device's memory and written to the other's, over a direct link too, unless they share it. Linear.
DeviceProblem energy_problem(DeviceProblem problem, std::span<const UnitWork> work,
                             std::span<const EnergyNumbers> devices);

// Millijoules with all nodes on the CPU.
double all_cpu_mj(const Graph& graph, const EnergyNumbers& cpu);

}  // namespace cleave
