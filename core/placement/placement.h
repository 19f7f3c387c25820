// Placement by cost between one accelerator and the host: a minimum cut, then a search.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <utility>
#include <vector>

#include "core/base/base.h"
#include "core/base/min_cut.h"
#include "core/cost/cost.h"

namespace cleave {

// ---- problem ----
//
// A placement problem: which units of a graph go to the accelerator so that one inference takes the
// least time. It knows no model, only units, values and microseconds.
//
//   unit   a node, or nodes that stay together in one part
//   value  made by a unit or by the host, read by units and perhaps by the host
//   level  units run in alternating levels, CPU first. A unit's level is the lowest of its own side
//          that is not below the level of a unit that it reads from. The units of an accelerator
//          level form one accelerator part, which is launched once; those of a CPU level one CPU part.
//
// The time of a placement is the sum of its units' times, of its launches, and of its crossings.
// Without residency a value crosses once into each accelerator part that reads it from elsewhere,
// and once out of an accelerator part when anything outside reads it. With residency it crosses at
// most once in each direction.

enum class AllowedSides : std::uint8_t { both, cpu, acc };

struct PlacementProblem {
  static constexpr auto kHost = std::numeric_limits<std::uint32_t>::max();
  // Crossing time of a non-tensor value: all units that make or read it are on one side.
  static constexpr double kTied = -1;

  std::vector<double> cpu_us;  // by unit
  std::vector<double> acc_us;
  std::vector<AllowedSides> allowed;

  std::vector<std::uint32_t> producer;   // by value: a unit, or kHost
  Adjacency readers;                     // by value: units, each once, never the producer
  std::vector<double> crossing_us;       // by value: time of one crossing, or kTied
  std::vector<std::uint8_t> host_reads;  // by value: 1 when it is an output of the graph

  double launch_us = 0;
  double cpu_launch_us = 0;                                          // of a CPU part
  std::size_t most_parts = std::numeric_limits<std::size_t>::max();  // on the accelerator
  Residency residency = Residency::off;
  Duplex duplex = Duplex::half;

  std::size_t unit_count() const { return cpu_us.size(); }
  std::size_t value_count() const { return producer.size(); }

  bool operator==(const PlacementProblem&) const = default;
};

// For each unit whether it is on the accelerator.
using Sides = std::vector<std::uint8_t>;

// Sets of units that ties keep on one side; clusters are numbered by their first unit. Linear.
struct Clusters {
  std::vector<std::uint32_t> of;
  Adjacency members;                  // by cluster: its units
  std::vector<AllowedSides> allowed;  // by cluster; cpu if a member must be on the CPU
};
Clusters find_clusters(const PlacementProblem& problem);

// The placement with the least time when launches are free and the accelerator keeps its values:
// one minimum cut. Its cost is a lower bound on every placement, with or without residency.
//
//   source = accelerator, sink = CPU; a cluster's arcs to them are its times on the other side
//   a value that one cluster reads: an arc each way between maker and reader
//   a value that several read:      a node for each direction, so that it crosses once
//
//   maker --w--> out --uncut--> each reader          each reader --uncut--> in --w--> maker

// The charges of a cut for a value that crosses.
struct CutCharges {
  double in_factor = 1;  // factor on its crossing_us, into the accelerator
  double out_factor = 1;
  double in_us = 0;  // added per value: a share of a launch
};

// The sides of a minimum cut; of several the one with most clusters on the accelerator. Close to
// linear.
Sides min_cut_sides(const PlacementProblem& problem, const Clusters& clusters,
                    const CutCharges& charges);

// The cost of these sides under the charges. Linear.
double cut_cost(const PlacementProblem& problem, const Sides& sides, const CutCharges& charges);

// ---- search ----
//
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

// ---- changed score ----
//
// The total of PlacementScorer::score() after some units changed sides, found from what is near them.
//
// A changed unit changes the levels of what runs after it, as a rule all by the same amount: a part
// more, or a part less. From the position on where every value that is still read was made a same
// number of levels later, nothing changes but the number of parts. So a step of a search costs what
// lies between its first unit and that position, and not the whole inference.
//
// It serves the usual problem, a half-duplex link without residency, in which the transfers of a
// part do not depend on other parts.

class ChangedScore {
 public:
  static bool serves(const PlacementProblem& problem);

  // The scorer's problem must outlive this, and be served. Linear.
  explicit ChangedScore(const PlacementScorer& scorer);

  // The placement that changes are made to. Linear.
  void set(const Sides& sides);

  // Units that change sides, each once; then the total of the changed placement.
  void flip(std::uint32_t unit);
  double total_us();
  // After total_us(): the changes stay (linear), or are taken back.
  void keep();
  void undo();

 private:
  struct Value {
    double us;
    std::uint32_t maker;        // a position, or kHost
    std::uint32_t last_reader;  // a position
    bool host_reads;
  };

  void add_units(const PlacementScorer& scorer);
  void add_values();
  std::uint32_t find_level(std::uint32_t position) const;
  std::uint32_t level(std::uint32_t position) const {
    return levels_[position] + (position < end_ ? 0 : shift_);
  }
  void find_levels();
  double crossing_us(std::uint32_t value);
  double launches_us(std::uint32_t most_level) const;

  // A position is a unit's place in the order of the inference: makers before readers.
  const PlacementProblem& problem_;
  std::vector<std::uint32_t> position_of_;  // by unit
  std::vector<std::uint32_t> units_;        // by position
  Adjacency makers_;                        // by position: those whose values it reads
  std::vector<std::uint32_t> last_reader_;  // by position: of what it makes
  std::uint32_t source_count_ = 0;          // units that read of none come first
  std::vector<Value> values_;               // only those that can cost something
  Adjacency readers_;                       // by value: positions
  Adjacency values_of_;                     // by position: the values that it makes or reads
  double penalty_us_ = 0;

  // The placement that is kept.
  std::vector<std::uint32_t> kept_levels_;  // by position
  std::vector<std::uint32_t> most_before_;  // by position: the highest level of those before it
  std::vector<std::uint32_t> most_from_;    // by position: of it and those after it; and 0
  // By position: the last reader of what those before it make, or of a model's input that they read.
  std::vector<std::uint32_t> last_read_before_;
  std::vector<double> costs_;  // by value
  double units_us_ = 0;
  double link_us_ = 0;

  // The changed one.
  std::vector<std::uint8_t> sides_;     // by position
  std::vector<std::uint32_t> levels_;   // by position; from end_ on without shift_
  std::vector<std::uint32_t> flipped_;  // positions
  std::uint32_t first_ = 0;             // of them
  std::uint32_t last_ = 0;
  std::uint32_t end_ = 0;    // from here on all levels are higher by shift_
  std::uint32_t shift_ = 0;  // modulo 2^32: down, too
  std::uint32_t sources_on_cpu_ = 0;
  double changed_units_us_ = 0;
  std::vector<std::uint64_t> seen_level_;  // the last visit of a value that entered it
  std::vector<std::uint64_t> seen_value_;  // the last total_us() that counted it
  std::uint64_t visit_ = 0;
};

// ---- placement ----
//
// Finds a placement with little time, and a bound that no placement is below. Steps:
//
// 1. minimum cuts, first without launches, then with growing shares of a launch charged to crossing
//    values
// 2. local search from each cut, from all on the CPU, and from all on the accelerator where
//    possible
// 3. with few clusters: every placement is tried
// 4. bound: the minimum cut with free launches, plus one launch if anything is on the accelerator

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
