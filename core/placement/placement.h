// Finds a placement with little time, and a bound that no placement is below. Steps:
//
// 1. minimum cuts, first without launches, then with growing shares of a launch charged to crossing
//    values
// 2. local search from each cut, from all on the CPU, and from all on the accelerator where
//    possible
// 3. with few clusters: every placement is tried
// 4. bound: the minimum cut with free launches, plus one launch if anything is on the accelerator
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>

#include "core/placement/problem.h"
#include "core/placement/search.h"

namespace cleave {

struct PlacementEffort {
  std::uint64_t looks = 18'000'000;   // limit of units and readers that the search visits
  std::uint32_t most_tried_out = 14;  // up to this many clusters, every placement is tried
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
  std::uint64_t moves = 0;  // tried by the search
};

// Deterministic. Close to linear in units + readers, plus the effort.
Placement find_placement(const PlacementProblem& problem, const PlacementEffort& effort = {});

// What find_placement() found, so that splits of one model under several options search once for each
// problem: few options change it. The last problems are kept. Not for several threads at a time.
class FoundPlacements {
 public:
  // As find_placement(problem). Linear for a problem that is known.
  Placement find(PlacementProblem problem);

 private:
  static constexpr std::size_t kMost = 4;
  std::deque<std::pair<PlacementProblem, Placement>> found_;
};

// No placement is faster: the minimum cut with free launches, plus one launch, unless all on the
// CPU is faster still. For a full-duplex link, the best bound over several weights of the two
// directions.
double placement_bound(const PlacementProblem& problem, const Clusters& clusters);

}  // namespace cleave
