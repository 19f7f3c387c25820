#include "core/balance/cut_network.h"

#include <algorithm>

namespace cleave::balance {
namespace {

constexpr std::uint32_t kInside = 0;   // the source: groups that the stage must hold
constexpr std::uint32_t kOutside = 1;  // the sink

}  // namespace

CutNetwork::CutNetwork(const Instance& instance)
    : instance_(instance), node_of_(instance.size(), 0), stamp_(instance.size(), 0) {
  start();
}

void CutNetwork::start() {
  network_.clear();
  ++now_;
  open_groups_.clear();
  always_cut_ = 0;
}

std::uint32_t CutNetwork::node_of(std::uint32_t group) {
  if (stamp_[group] != now_) {
    stamp_[group] = now_;
    node_of_[group] = network_.add_node();
    open_groups_.push_back(group);
  }
  return node_of_[group];
}

// A net is cut when its pins are not all on one side. If one pin is fixed inside, the node `all`
// can be inside only if all pins are; otherwise the net is cut. A pin fixed outside gives the
// mirror image. With no fixed pin, both are joined.
void CutNetwork::add_open_net(double cost, bool has_in, bool has_out) {
  const std::size_t pins = open_pins_.size();
  if (pins == 1) {
    if (has_in) network_.add_arc(kInside, node_of(open_pins_[0]), cost);
    if (has_out) network_.add_arc(node_of(open_pins_[0]), kOutside, cost);
    return;
  }
  if (pins == 2 && !has_in && !has_out) {
    const std::uint32_t a = node_of(open_pins_[0]);
    const std::uint32_t b = node_of(open_pins_[1]);
    return network_.add_arc(a, b, cost, cost);
  }
  const std::uint32_t any = has_in ? kInside : network_.add_node();
  const std::uint32_t all = has_out ? kOutside : network_.add_node();
  network_.add_arc(any, all, cost);
  for (const std::uint32_t group : open_pins_) {
    const std::uint32_t node = node_of(group);
    if (!has_in) network_.add_arc(node, any, kUnlimited);
    if (!has_out) network_.add_arc(all, node, kUnlimited);
  }
}

double CutNetwork::least_cut(double limit) {
  return always_cut_ + network_.augment(std::max(0.0, limit - always_cut_));
}

double CutNetwork::least_cut_with_time(double limit) {
  for (const std::uint32_t group : open_groups_) {
    if (instance_.time[group] > 0 && instance_.host_only[group] == 0) {
      network_.add_arc(node_of_[group], kOutside, instance_.time[group]);
    }
  }
  return always_cut_ + network_.augment(std::max(0.0, limit - always_cut_));
}

}  // namespace cleave::balance
