// A chain of groups, and the position of every other group relative to it.
#pragma once

#include <cstdint>
#include <vector>

#include "core/balance/cut_network.h"
#include "core/balance/instance.h"

namespace cleave::balance {

class Chain {
 public:
  // `links` ascend, each one after the one before in the order.
  Chain(const Instance& instance, std::vector<std::uint32_t> links);

  std::uint32_t size() const { return static_cast<std::uint32_t>(links_.size()); }
  // The side of a group in a stage that holds exactly the links first..last of the chain.
  Side side(std::uint32_t group, std::uint32_t first, std::uint32_t last) const {
    if (after_[group] >= first && before_[group] <= last) return Side::in;
    const bool is_out = before_[group] < first || after_[group] > last;
    return is_out ? Side::out : Side::open;
  }
  // The nets with pins on both sides of the border before link `first`, or next to it.
  std::span<const std::uint32_t> nets_at(std::uint32_t border) const { return nets_at_.of(border); }
  // Sums over the groups that such a stage must hold (Side::in).
  struct Forced {
    double time = 0, host_time = 0, bytes = 0, host_only = 0;
  };
  const Forced& forced(std::uint32_t first, std::uint32_t last) const {
    return forced_[std::size_t{first - 1} * size() + (last - 1)];
  }

 private:
  void place_groups();
  void sum_forced();
  void find_nets();

  const Instance& instance_;
  std::vector<std::uint32_t> links_;
  // Links are numbered from 1. By group: the last link that it equals or follows, 0 if none; the
  // first link that it equals or precedes, size() + 1 if none.
  std::vector<std::uint32_t> after_;
  std::vector<std::uint32_t> before_;
  std::vector<Forced> forced_;
  Adjacency nets_at_;
};

// Paths through the instance that may give a good bound: the longest by time, by the cost of nets,
// and by the number of groups. Each is thinned to `most` links at equal shares; duplicates are left
// out.
std::vector<Chain> heavy_chains(const Instance& instance, std::size_t most);

}  // namespace cleave::balance
