// Placement by cost (--place cost): of the nodes that may run on the accelerator, keeps those there
// that make an inference faster, counting the time of the link and of launches.
//
//   conv (acc) -> small op (CPU only) -> add (acc) -> softmax (CPU only)
//   add moves to the CPU where two crossings and a launch cost more than it gains
//
// Groups stay whole. Where non-tensor data may not cross, its makers and readers stay on one side.
// A node whose time is unknown takes no time on either side, and a tensor whose size is unknown
// takes no time on the link: the result counts both.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/placement/placement.h"
#include "core/split/fusion.h"
#include "core/split/latency.h"
#include "core/split/options.h"
#include "core/support/host_shapes.h"

namespace cleave {

// With PlaceGoal::energy in millijoules instead of microseconds.
struct PlacementNumbers {
  double total_us = 0;
  double bound_us = 0;  // no placement is faster
  PlacementProof proof = PlacementProof::none;
  StartSide start = StartSide::cpu;  // the side on which the subgraph pass should start
  std::size_t moved = 0;             // nodes that went to the CPU
  std::size_t launches = 0;
  std::uint64_t moves = 0;  // that the search tried
  // What the best placement gains on all that may run on the accelerator being there, of its time. Nodes
  // do not move when this is less than asked for.
  double gain = 0;
  bool is_too_little = false;
  std::size_t unknown_times = 0;  // nodes
  std::size_t unknown_sizes = 0;  // tensors
};

struct PlacedByCost {
  Fusions fusions;  // what stays on the accelerator, with groups and reasons
  PlacementNumbers numbers;
};

struct PlaceRequest {
  LatencyInput latency;
  bool allow_non_tensor = false;
  const NodeSet* required = nullptr;            // nodes that stay on the accelerator; null: none
  const NodeSet* shape_computations = nullptr;  // as --host-shapes found them; null: none
  double min_gain = 0;                          // of the time: nodes move to the CPU for no less
  FoundPlacements* found = nullptr;             // of earlier requests; null: it is searched
};

// Only the numbers of the best placement of what may run on the accelerator. Close to linear.
PlacementNumbers best_placement(const Graph& graph, const Fusions& fusions,
                                const PlaceRequest& request);

// `fusions` is what may run on the accelerator. Each node that moves has the reason `costs_more`,
// with the sum that it and the nodes moved along with it would cost there. Close to linear.
PlacedByCost place_by_cost(const Graph& graph, Fusions fusions, const PlaceRequest& request);

}  // namespace cleave
