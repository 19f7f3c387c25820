// The balance problem of a graph: its nodes are the items, in model order.
//
//   time         measured (the file's `cost` fields, or a table from elsewhere), else by the
//                roofline: a device computes or moves data, whichever takes longer, max(flops /
//                device_flops, bytes / device_bandwidth); if only some nodes were measured, the
//                others' estimates are scaled to them
//   transfers    bytes of a tensor / link_bandwidth; a tensor of unknown size is free, and counted
//   memory       parameters and constants that the file has for a node, also those behind constants that
//                compute on them; one that several nodes read is shared. Activations are the tensors that
//                nodes make, and the graph's inputs
//
// Markers of stages (core/stages/stages.h) cost 0 and stay with a node next to them. Ties are kept:
// sets of nodes stay together, and what must run first is in the same stage or an earlier one.
//
// When balancing by anything but time, transfers have no comparable unit: they cost 0.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/balance/problem.h"
#include "core/base/link.h"
#include "core/graph/graph.h"
#include "core/split/node_ties.h"

namespace cleave {

enum class BalanceBy : std::uint8_t {
  time,    // microseconds
  flops,   // floating-point operations
  params,  // elements of parameters; a shared one counts for its first reader
  bytes,   // that nodes read and write
  nodes,
};

struct GraphCostOptions {
  BalanceBy by = BalanceBy::time;
  double device_flops = 10e12;      // per second, of a device of speed 1
  double device_bandwidth = 100e9;  // bytes per second, to its own memory
  double link_bandwidth = default_link().bytes_per_second;
  double optimizer_factor = 1;  // bytes held for each byte of a parameter
  // Microseconds by node, below 0 when not measured; null: no table. Takes precedence over the
  // file's own.
  const PerNode<double>* measured = nullptr;
  const NodeTies* ties = nullptr;  // null: data alone orders the nodes
};

struct GraphBalance {
  BalanceProblem problem;     // without devices; refers to the graph for names
  std::size_t measured = 0;   // nodes whose time was measured
  std::size_t scaled = 0;     // nodes whose estimate was scaled to these (core/cost/target_times.h)
  double measured_share = 0;  // of all times that are balanced
  std::size_t unknown_costs = 0;  // nodes without any known cost: they cost 0
  std::size_t unknown_sizes = 0;  // tensors between nodes whose bytes are unknown: 0
};

// Linear in nodes, and in what they read through constants. The graph must live as long as the problem.
GraphBalance balance_problem_of(const Graph& graph, const GraphCostOptions& options);

}  // namespace cleave
