// The total of PlacementScorer::score() after some units changed sides, found from what is near them.
//
// A changed unit changes the levels of what runs after it, as a rule all by the same amount: a part
// more, or a part less. From the position on where every value that is still read was made a same
// number of levels later, nothing changes but the number of parts. So a step of a search costs what
// lies between its first unit and that position, and not the whole inference.
//
// It serves the usual problem, a half-duplex link without residency, in which the transfers of a
// part do not depend on other parts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/adjacency.h"
#include "core/placement/search.h"

namespace cleave {

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

}  // namespace cleave
