// Stages by parameter count: fill a stage until it holds more than its share, then start the next;
// where a node reaches back into an earlier stage, what lies between joins that stage.
//
//   share 4:  a(3) b(2) | c(1) d(3) ...      d reads a and c: c joins the stage of a, and d too
#pragma once

#include <cstdint>

#include "core/graph/graph.h"

namespace cleave {

struct AutoShards {
  PerNode<std::uint32_t> stage_of;
  std::uint32_t count = 0;    // never more than asked for, often fewer
  std::uint64_t share = 0;    // parameters, as elements: all of the model's // stages asked for
  std::uint64_t largest = 0;  // parameters of the fullest stage
};

// A parameter counts where it is first used, once, whatever its names; one of unknown shape counts
// nothing. O(n log stages). Method: FairScale auto_shard, whose counts are those of modules.
AutoShards shard_by_parameters(const Graph& graph, std::uint32_t stages);

}  // namespace cleave
