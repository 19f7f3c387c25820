// Local search: moves groups between neighbouring stages, and cuts anew what comes of it.
//
// Annealing on the stage of each group: a move keeps the order (no earlier than any predecessor, no
// later than any successor) and changes two stages only, since a stage pays for a net once whoever
// holds the other pins. The energy is the sum of (load / best)^P: with P = 24 it is nearly the
// greatest load, with 4 it lets groups pass through full stages; rounds alternate. After a round
// the stages become an order of groups, which the dynamic program cuts: that moves many groups at
// once.
#pragma once

#include <chrono>
#include <cstdint>

#include "core/balance/instance.h"
#include "core/balance/orders.h"
#include "core/base/progress.h"

namespace cleave::balance {

// When to stop by the clock, if at all.
class Deadline {
 public:
  explicit Deadline(double seconds);
  bool has_passed() const { return limited_ && std::chrono::steady_clock::now() >= at_; }

 private:
  bool limited_ = false;
  std::chrono::steady_clock::time_point at_;
};

struct SearchOptions {
  std::uint64_t moves = 0;  // that are tried, at most
  std::uint64_t seed = 1;
  bool start_fits = true;  // the devices' memory; else the search begins by making room
  double enough = 0;       // an objective that needs no further search: the lower bound
  const Deadline* deadline = nullptr;
  const Progress* progress = nullptr;
};

struct SearchResult {
  Candidate best;
  std::uint64_t moves = 0;
};

// The best fits the devices' memory and is never worse than a start that does; its objective is
// kUnlimited when the start does not and nothing was found.
SearchResult local_search(const Instance& instance, const Candidate& start,
                          const SearchOptions& options);

}  // namespace cleave::balance
