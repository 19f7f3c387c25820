// The placement of least time that was found, and a bound that no placement is below.
//
//   1. minimum cuts, with no launch and with growing shares of one on values that cross
//   2. each of them, all on the CPU, and all that may on the accelerator, improved by local search
//   3. of few clusters every placement is tried
//   4. bound: the minimum cut with launches free, and one launch if anything is on the accelerator
#pragma once

#include <cstdint>

#include "core/placement/problem.h"
#include "core/placement/score.h"

namespace cleave {

struct PlacementEffort {
  std::uint64_t looks = 30'000'000;   // units and readers that the search may look at
  std::uint32_t most_tried_out = 14;  // clusters of which every placement is tried
};

enum class PlacementProof : std::uint8_t {
  none,        // the bound is lower than the time
  cut,         // the time is the bound: no placement is faster
  exhaustive,  // every placement was tried
};

struct Placement {
  Sides sides;
  PlacementScorer::Start start = PlacementScorer::Start::cpu;  // the side of the first level
  PlacementScore score;
  double bound_us = 0;
  PlacementProof proof = PlacementProof::none;
  std::uint64_t moves = 0;  // that the search tried
};

// Deterministic; close to linear in units + readers, besides the effort.
Placement find_placement(const PlacementProblem& problem, const PlacementEffort& effort = {});

// No placement is faster: the minimum cut with launches free, plus one launch unless all on the CPU
// is faster still. With a full-duplex link the best of several weights of the two directions.
double placement_bound(const PlacementProblem& problem, const Clusters& clusters);

}  // namespace cleave
