// Local search over placements, by the true time. A minimum cut does not count launches, and counts
// a value that enters several parts once. Each step changes the side of some clusters and is kept
// when the time falls:
//
//   drop   an accelerator part, or a connected piece of one, goes to the CPU; also all parts
//          without a gain at once
//   merge  everything between two accelerator parts that can leave the CPU does, so that they
//          become one
//   move   one cluster, or a connected piece of CPU clusters, changes sides
//
// Steps are tried in a fixed order until none helps or the effort is spent. The result depends on
// the problem alone.
#pragma once

#include <cstdint>

#include "core/placement/score.h"

namespace cleave {

// The effort, counted in moves times the size of the problem, not in seconds.
struct SearchBudget {
  std::uint64_t left = 0;   // units and readers that may still be visited
  std::uint64_t moves = 0;  // tried so far
};

struct PlacementResult {
  Sides sides;
  PlacementScore score;
};

// The result is not worse than `sides`, which must keep clusters whole. Uses up `effort`.
PlacementResult search_placement(PlacementScorer& scorer, const Clusters& clusters, Sides sides,
                                 SearchBudget& effort);

}  // namespace cleave
