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
#include <span>
#include <vector>

#include "core/balance/instance.h"
#include "core/balance/orders.h"
#include "core/base/progress.h"

namespace cleave::balance {

// The state of a local search: each group's stage, each stage's cost, and how both change when a
// group moves.
class StageState {
 public:
  // `reserve` is by stage: bytes kept free for activations, which moves do not count.
  StageState(const Instance& instance, const Candidate& candidate, std::vector<double> reserve);

  std::uint32_t stage_count() const { return static_cast<std::uint32_t>(members_.size()); }
  std::uint32_t stage_of(std::uint32_t group) const { return stage_of_[group]; }
  const std::vector<std::uint32_t>& stages() const { return stage_of_; }
  std::span<const std::uint32_t> members(std::uint32_t stage) const { return members_[stage]; }

  struct Range {
    std::uint32_t first, last;
  };
  // The stages that the group may be in while all others stay. O(its edges).
  Range range_of(std::uint32_t group) const;
  bool may_enter(std::uint32_t group, std::uint32_t stage) const {
    return instance_.takes(kind(stage), group);
  }
  // Moves the group. O(its nets).
  void move(std::uint32_t group, std::uint32_t to);

  double load(std::uint32_t stage) const {
    const Sums& s = sums_[stage];
    return instance_.load(kind(stage), s.time, s.host_time, s.in, s.out);
  }
  // By what share of its memory the stage is too large; 0 when it fits.
  double overflow(std::uint32_t stage) const {
    const double room = kind(stage).memory - reserve_[stage];
    return sums_[stage].bytes > room ? (sums_[stage].bytes - room) / kind(stage).memory : 0;
  }

 private:
  struct Sums {
    double time = 0, host_time = 0, in = 0, out = 0, bytes = 0;
  };
  const DeviceKind& kind(std::uint32_t stage) const { return *kinds_[stage]; }
  std::uint32_t& pins_in(std::uint32_t net, std::uint32_t stage) {
    return pins_in_[std::size_t{net} * members_.size() + stage];
  }
  std::uint32_t& users_in(std::uint32_t shared, std::uint32_t stage) {
    return users_in_[std::size_t{shared} * members_.size() + stage];
  }
  void add(std::uint32_t group, std::uint32_t stage);
  void remove(std::uint32_t group);
  void count_net(std::uint32_t net, std::uint32_t stage, double sign);

  const Instance& instance_;
  std::vector<const DeviceKind*> kinds_;  // by stage
  std::vector<double> reserve_;
  std::vector<Sums> sums_;
  std::vector<std::uint32_t> stage_of_;
  std::vector<std::vector<std::uint32_t>> members_;
  std::vector<std::uint32_t> place_;  // of each group among its stage's members
  std::vector<std::uint32_t> pins_in_;
  std::vector<std::uint32_t> users_in_;
};

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
