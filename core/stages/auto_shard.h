// Stages by parameter count: fills a stage until it holds more than its share, then starts the
// next. When a node reads from an earlier stage, everything in between joins that stage.
//
//   share 4:  a(3) b(2) | c(1) d(3) ...      d reads a and c: c joins the stage of a, and d too
#pragma once

#include <cstdint>

#include "core/graph/graph.h"

namespace cleave {

struct AutoShards {
  PerNode<std::uint32_t> stage_of;
  std::uint32_t count = 0;    // may be less than asked for, and often is
  std::uint64_t share = 0;    // elements of all parameters // stages asked for
  std::uint64_t largest = 0;  // parameters of the fullest stage
};

// A parameter, under all its names, counts once, where it is first used. A parameter of unknown
// shape counts 0. O(n log stages). Method: FairScale auto_shard, which counts per module.
AutoShards shard_by_parameters(const Graph& graph, std::uint32_t stages);

}  // namespace cleave
