// The placement problem of a graph: which device runs which unit, from the times of its nodes, the
// sizes of its tensors and the machines of the targets.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/cost/cost.h"
#include "core/cost/device.h"
#include "core/cost/target_times.h"
#include "core/devices/energy.h"
#include "core/devices/problem.h"
#include "core/graph/graph.h"

namespace cleave {

struct GraphProblemInput {
  const Graph& graph;
  // Nodes that stay together, because they exchange data that is no tensor, match a pattern, ... Units
  // do not depend on each other in a cycle.
  const PerNode<std::uint32_t>& unit_of;
  std::size_t unit_count = 0;

  std::span<const NodeSet> accepted;  // by target: the nodes that it can run
  const NodeSet* required = nullptr;  // nodes that do not run on the host; null: none
  const TargetTimes& times;
  std::span<const Machine> machines;   // by target: its link, launch, memory and most parts
  std::vector<DirectLink> links = {};  // costs in microseconds a byte
  Residency residency = Residency::off;
};

struct GraphProblem {
  DeviceProblem problem;  // costs in microseconds
  // Nodes that could run on a device where their time is unknown: they take none anywhere.
  std::size_t unknown_times = 0;
  std::size_t unknown_sizes = 0;  // tensors that take no bytes
};

// A unit runs on a target that accepts all its nodes, and on the host unless one is required
// elsewhere and a target accepts the unit. An order between nodes that is not one of data
// (Graph::followers) is a value of no bytes. Linear.
GraphProblem graph_problem(const GraphProblemInput& input);

// By unit: FLOPs, and bytes read and written, for energy_problem(); what is unknown counts as 0.
// `costs` are by node. Linear.
std::vector<UnitWork> unit_work(const GraphProblemInput& input, const PerNode<NodeCost>& costs);

}  // namespace cleave
