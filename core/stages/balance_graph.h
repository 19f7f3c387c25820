// The balance problem of a graph: its nodes are the items, in model order.
//
//   time         what was measured (the file's `cost` fields, or a table from elsewhere), else by
//                the roofline: a device is busy with computing or with memory, whichever takes
//                longer, max(flops / device_flops, bytes / device_bandwidth); where some nodes
//                were measured and others not, these are scaled to the measured ones
//   transfers    bytes of a tensor / link_bandwidth; what has no known size is free, and counted
//   memory       parameters and constants that a node reads; one that several nodes read is shared.
//                Activations are the tensors that nodes make, and the graph's inputs
//
// Markers of stages (core/stages/stages.h) cost nothing and stay with a node beside them.
//
// Balance by anything but time has no unit that transfers could be told in: they cost nothing.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/balance/problem.h"
#include "core/base/link.h"
#include "core/graph/graph.h"

namespace cleave {

enum class BalanceBy : std::uint8_t {
  time,    // microseconds
  flops,   // floating-point operations
  params,  // elements of parameters; of a shared one with the first node that reads it
  bytes,   // that nodes read and write
  nodes,
};

struct GraphCostOptions {
  BalanceBy by = BalanceBy::time;
  double device_flops = 10e12;      // a second, of a device of speed 1
  double device_bandwidth = 100e9;  // bytes a second, to its own memory
  double link_bandwidth = default_link().bytes_per_second;
  double optimizer_factor = 1;  // bytes held for each byte of a parameter
  // Microseconds by node, below 0 where not measured; null: none were. Beats the file's own.
  const PerNode<double>* measured = nullptr;
};

struct GraphBalance {
  BalanceProblem problem;     // without devices; refers to the graph for names
  std::size_t measured = 0;   // nodes whose time was measured
  std::size_t scaled = 0;     // nodes whose estimate was scaled to those (core/cost/guess_scale.h)
  double measured_share = 0;  // of all times that are balanced
  std::size_t unknown_costs = 0;  // nodes of which nothing is known: they cost 0
  std::size_t unknown_sizes = 0;  // tensors between nodes whose bytes are not known: 0
};

// Linear. The graph must live as long as the problem.
GraphBalance balance_problem_of(const Graph& graph, const GraphCostOptions& options);

}  // namespace cleave
