// Placement by cost (--place cost): of the nodes that may go to the accelerator those that make an
// inference faster there, with the time of the link and of launches counted.
//
//   conv (acc) -> small op (CPU only) -> add (acc) -> softmax (CPU only)
//   add moves to the CPU where two crossings and a launch cost more than it gains
//
// Groups stay whole. Where data that is no tensor may not cross, its makers and readers stay on one
// side. A node whose time is not known takes no time on either side, and a tensor whose size is not
// known takes no time over the link: the result says how many there are.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/placement/placement.h"
#include "core/split/fusion.h"
#include "core/split/host_shapes.h"
#include "core/split/latency.h"
#include "core/split/options.h"

namespace cleave {

struct PlacementNumbers {
  double total_us = 0;
  double bound_us = 0;  // no placement is faster
  PlacementProof proof = PlacementProof::none;
  StartSide start = StartSide::cpu;  // that the subgraph pass is to begin with
  std::size_t moved = 0;             // nodes that went to the CPU
  std::size_t launches = 0;
  std::uint64_t moves = 0;        // that the search tried
  std::size_t unknown_times = 0;  // nodes
  std::size_t unknown_sizes = 0;  // tensors
};

struct PlacedByCost {
  Fusions fusions;  // what stays on the accelerator, with the groups and reasons of that
  PlacementNumbers numbers;
};

struct PlaceRequest {
  LatencyInput latency;
  AccFinderOptions acc_finder = {};
  const NodeSet* required = nullptr;            // nodes that stay on the accelerator; null: none
  const NodeSet* shape_computations = nullptr;  // as --host-shapes found them; null: none
};

// The numbers alone, of what may go to the accelerator: what is possible. Close to linear.
PlacementNumbers best_placement(const Graph& graph, const Fusions& fusions,
                                const PlaceRequest& request);

// `fusions` is what may go to the accelerator. Each node that moves has the reason `costs_more`,
// with what the nodes that moved with it would cost there. Close to linear.
PlacedByCost place_by_cost(const Graph& graph, Fusions fusions, const PlaceRequest& request);

}  // namespace cleave
