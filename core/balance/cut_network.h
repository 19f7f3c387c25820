// The least cost of a stage that must hold some groups and cannot hold others: a minimum cut of the
// nets.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/balance/instance.h"
#include "core/base/max_flow.h"

namespace cleave::balance {

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

}  // namespace cleave::balance
