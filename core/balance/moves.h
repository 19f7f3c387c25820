// The state of a local search: each group's stage, each stage's cost, and how both change when a
// group moves.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/balance/instance.h"

namespace cleave::balance {

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
    return instance_.host_only[group] == 0 || kind(stage).is_host;
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

}  // namespace cleave::balance
