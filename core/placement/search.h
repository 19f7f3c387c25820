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

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/adjacency.h"
#include "core/base/byte_memo.h"
#include "core/placement/problem.h"

namespace cleave {

// The time of a placement, with its levels. The search compares placements by it.
struct PlacementScore {
  double cpu_us = 0;
  double acc_us = 0;
  // Over a half-duplex link in both directions, over a full-duplex one for each part in the
  // direction that takes longer.
  double link_us = 0;
  double launch_us = 0;      // of accelerator parts and CPU parts
  double penalty_us = 0;     // for parts beyond the limit: more than any placement takes
  std::size_t launches = 0;  // of accelerator parts
  double total_us = 0;       // the sum of all of these
};

// Keeps the order and its tables, so that scoring many placements allocates no memory.
class PlacementScorer {
 public:
  enum class Start : std::uint8_t { cpu, acc };

  // The problem must outlive the scorer. Units and values must not form a cycle.
  explicit PlacementScorer(const PlacementProblem& problem);

  // Linear in units + readers. `start` is the side of the first level; starting on the CPU never
  // needs more launches.
  PlacementScore score(const Sides& sides, Start start = Start::cpu);
  // By unit: the levels of the last placement that was looked at.
  const std::vector<std::uint32_t>& levels() const { return levels_; }
  // The levels alone. Linear.
  void find_levels(const Sides& sides, Start start = Start::cpu);
  std::size_t level_count() const { return level_count_; }
  const PlacementProblem& problem() const { return problem_; }
  // By unit: the values that it makes.
  const Adjacency& outputs() const { return outputs_; }
  // The units, makers before readers.
  const std::vector<std::uint32_t>& order() const { return order_; }
  // The units and readers that one score visits: the unit in which the search counts its effort.
  std::uint64_t size() const { return problem_.unit_count() + problem_.readers.items.size(); }
  // For each part beyond the limit: more than any placement takes.
  double penalty_us() const { return penalty_us_; }

 private:
  void add_units(const Sides& sides, PlacementScore& score) const;
  void add_launches(const Sides& sides, PlacementScore& score);
  void add_crossing_once(const Sides& sides, std::uint32_t value);
  void add_crossing_per_part(const Sides& sides, std::uint32_t value);
  void add_link(PlacementScore& score) const;

  const PlacementProblem& problem_;
  Adjacency outputs_;
  std::vector<std::uint32_t> order_;
  std::vector<std::uint32_t> levels_;
  std::size_t level_count_ = 0;
  std::vector<std::uint32_t> seen_by_level_;  // by level: the last value + 1 that entered it
  std::vector<std::uint8_t> used_;            // by level
  std::vector<double> in_us_, out_us_;        // by level
  double penalty_us_ = 0;
};

// The effort, counted in moves times the size of the problem, not in seconds.
struct SearchBudget {
  std::uint64_t left = 0;   // units and readers that may still be visited
  std::uint64_t moves = 0;  // tried so far
};

struct PlacementResult {
  Sides sides;
  PlacementScore score;
};

class ChangedScore;

// The times of placements of one problem that searches have tried; 0: not known.
using KnownTotals = ByteMemo<double>;

// What searches of one problem share. `changed` scores single steps sooner than `scorer`; null where it
// does not serve the problem.
struct SearchTools {
  PlacementScorer& scorer;
  ChangedScore* changed;
  const Clusters& clusters;
  KnownTotals& known;
};

// The result is not worse than `sides`, which must keep clusters whole. Uses up `effort`.
PlacementResult search_placement(const SearchTools& tools, Sides sides, SearchBudget& effort);

}  // namespace cleave
