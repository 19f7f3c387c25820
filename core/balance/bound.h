// Lower bounds on the objective of any assignment, each named by its certificate.
//
// "work": all compute, spread evenly over the devices. "single-node": every item has to run on some
// device. "path-mincut": take a chain of groups, each after the one before. Any pipeline cuts it
// into runs, one run a stage. A stage that holds exactly the run a..b of the chain
//   must hold what lies between them       (after a, before b)
//   cannot hold what lies before a-1 or after b+1
// so it pays at least m(a,b), the minimum cut of the nets that separates the two sets. It takes at
// least f(a,b), the same minimum cut where each undecided group may also come along at the price of
// its time. An objective T cannot be reached when no cut of the chain into runs with f <= T leaves
// devices with room for all the work after paying m for every run. Bisection finds the least T that
// can be reached.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/balance/instance.h"
#include "core/balance/search.h"
#include "core/base/min_cut.h"

namespace cleave::balance {

// The least cost of a stage that must hold some groups and cannot hold others: a minimum cut of the
// nets.
enum class Side : std::uint8_t { open, in, out };

class CutNetwork {
 public:
  explicit CutNetwork(const Instance& instance);

  // Starts a new network; nets are then added, each once. The sides of groups must not change in
  // between.
  void start();
  // `side_of` gives the side of each of the net's pins, which are those of Instance::pins.
  template <class SideOf>
  void add_net(std::uint32_t net, SideOf side_of);
  // The least cost of the nets that any such stage cuts; stops counting at `limit`.
  double least_cut(double limit);
  // The same when an open group may join the stage at the price of its time. Call after least_cut.
  double least_cut_with_time(double limit);

  std::uint64_t steps() const { return network_.steps() + pins_seen_; }

 private:
  std::uint32_t node_of(std::uint32_t group);
  void add_open_net(double cost, bool has_in, bool has_out);

  const Instance& instance_;
  FlowNetwork network_;
  std::vector<std::uint32_t> node_of_;  // by group; valid where stamp_ is now_
  std::vector<std::uint32_t> stamp_;
  std::uint32_t now_ = 0;
  std::vector<std::uint32_t> open_groups_;  // in the network
  std::vector<std::uint32_t> open_pins_;    // of the net being added
  double always_cut_ = 0;                   // nets with pins on both sides
  std::uint64_t pins_seen_ = 0;
};

template <class SideOf>
void CutNetwork::add_net(std::uint32_t net, SideOf side_of) {
  open_pins_.clear();
  bool has_in = false;
  bool has_out = false;
  for (const std::uint32_t group : instance_.pins.of(net)) {
    const Side side = side_of(group);
    has_in = has_in || side == Side::in;
    has_out = has_out || side == Side::out;
    if (side == Side::open) open_pins_.push_back(group);
  }
  pins_seen_ += instance_.pins.of(net).size();
  if (has_in && has_out) {
    always_cut_ += instance_.net_cost[net];
  } else if (!open_pins_.empty()) {
    add_open_net(instance_.net_cost[net], has_in, has_out);
  }
}

// A chain of groups, and the position of every other group relative to it.
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

struct BoundOptions {
  double reached = kUnlimited;  // an objective known to be reachable: no bound is above it
  // limit of the work on minimum cuts; a cut not computed counts as 0
  std::uint64_t flow_steps = 0;
  const Deadline* deadline = nullptr;
  const Progress* progress = nullptr;
};

struct Bound {
  double objective = 0;  // no assignment is below it; slightly rounded down
  std::string certificate;
};

// The bounds "work" and "single-node". O(n log n).
Bound simple_bound(const Instance& instance);

// The bound "path-mincut" over some chains, and single groups with what they must bring along;
// never below simple_bound().
Bound flow_bound(const Instance& instance, const BoundOptions& options);

}  // namespace cleave::balance
