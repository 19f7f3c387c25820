// Local search: moves groups between neighbouring stages and cuts the result anew.
//
// It anneals the stage of each group. A move keeps the order (no earlier than any predecessor, no
// later than any successor) and changes two stages only, since a stage pays for a net once,
// wherever the net's other pins are. The energy is the sum of (load / best)^P: with P = 24 it is
// nearly the greatest load, with P = 4 groups can pass through full stages; rounds alternate
// between the two. After a round the stages become an order of groups, which the dynamic program
// cuts: that moves many groups at once.
#pragma once

#include <chrono>
#include <cstdint>

#include "core/balance/instance.h"
#include "core/balance/orders.h"
#include "core/base/progress.h"

namespace cleave::balance {

// The time at which to stop, if there is one.
class Deadline {
 public:
  explicit Deadline(double seconds);
  bool has_passed() const { return limited_ && std::chrono::steady_clock::now() >= at_; }

 private:
  bool limited_ = false;
  std::chrono::steady_clock::time_point at_;
};

struct SearchOptions {
  std::uint64_t moves = 0;  // limit of the moves tried
  std::uint64_t seed = 1;
  // false: the start exceeds a device's memory, and the search begins by making room
  bool start_fits = true;
  double enough = 0;  // stops at this objective: the lower bound
  const Deadline* deadline = nullptr;
  const Progress* progress = nullptr;
};

struct SearchResult {
  Candidate best;
  std::uint64_t moves = 0;
};

// The best fits the devices' memory and is never worse than a start that fits. Its objective is
// kUnlimited when the start does not fit and no fitting assignment was found.
SearchResult local_search(const Instance& instance, const Candidate& start,
                          const SearchOptions& options);

}  // namespace cleave::balance
