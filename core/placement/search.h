// Local search over placements, by the true time: what a minimum cut cannot see are launches, and
// values that enter several parts. Each step changes the side of some clusters and stays when the
// time falls:
//
//   drop   an accelerator part, or a connected piece of one, goes to the CPU; also all parts that
//          gain nothing at once
//   merge  what may leave the CPU between two accelerator parts does, so that they become one
//   move   one cluster, or a connected piece of CPU clusters, changes sides
//
// Steps are tried in a fixed order until none helps or the effort is spent, so that the result
// depends on the problem alone.
#pragma once

#include <cstdint>

#include "core/placement/score.h"

namespace cleave {

// Counted in moves times the size of the problem, not in seconds.
struct SearchEffort {
  std::uint64_t left = 0;   // units and readers that may still be looked at
  std::uint64_t moves = 0;  // tried so far
};

struct SearchResult {
  Sides sides;
  PlacementScore score;
};

// No worse than `sides`, which must keep clusters whole. Spends `effort`.
SearchResult search_placement(PlacementScorer& scorer, const Clusters& clusters, Sides sides,
                              SearchEffort& effort);

}  // namespace cleave
