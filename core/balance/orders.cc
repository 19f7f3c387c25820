#include "core/balance/orders.h"

#include <algorithm>
#include <cassert>
#include <deque>
#include <functional>
#include <numeric>
#include <queue>
#include <utility>

namespace cleave::balance {
namespace {

std::vector<std::uint32_t> predecessor_counts(const Instance& instance) {
  std::vector<std::uint32_t> counts(instance.size());
  for (std::uint32_t group = 0; group < instance.size(); ++group) {
    counts[group] = static_cast<std::uint32_t>(instance.predecessors.of(group).size());
  }
  return counts;
}

enum class Take : std::uint8_t { oldest, newest };

Order order_by_readiness(const Instance& instance, Take take) {
  std::vector<std::uint32_t> waits = predecessor_counts(instance);
  std::deque<std::uint32_t> ready;
  for (std::uint32_t group = 0; group < instance.size(); ++group) {
    if (waits[group] == 0) ready.push_back(group);
  }
  Order order;
  order.reserve(instance.size());
  while (!ready.empty()) {
    const std::uint32_t group = take == Take::oldest ? ready.front() : ready.back();
    if (take == Take::oldest) ready.pop_front();
    if (take == Take::newest) ready.pop_back();
    order.push_back(group);
    for (const std::uint32_t next : instance.successors.of(group)) {
      if (--waits[next] == 0) ready.push_back(next);
    }
  }
  return order;
}

// Depth-first postorder along `edges` from the groups that have none in `against`, no recursion.
Order postorder(const Adjacency& edges, const Adjacency& against) {
  Order order;
  order.reserve(edges.count());
  std::vector<std::uint8_t> seen(edges.count(), 0);
  std::vector<std::pair<std::uint32_t, std::uint32_t>> open;  // group, next edge
  const auto enter = [&](std::uint32_t group) {
    seen[group] = 1;
    open.emplace_back(group, edges.begin[group]);
  };
  for (std::uint32_t root = 0; root < edges.count(); ++root) {
    if (seen[root] != 0 || !against.of(root).empty()) continue;
    enter(root);
    while (!open.empty()) {
      auto& [group, next] = open.back();
      if (next == edges.begin[group + 1]) {
        order.push_back(group);
        open.pop_back();
        continue;
      }
      const std::uint32_t other = edges.items[next++];
      if (seen[other] == 0) enter(other);
    }
  }
  return order;
}

// Picks the ready group that leaves the least cost of half-done nets; if several are equal, the one that
// became ready last. A group's value changes when one of its nets is begun or has one pin left.
class LeastLiveCut {
 public:
  explicit LeastLiveCut(const Instance& instance)
      : instance_(instance),
        waits_(predecessor_counts(instance)),
        ready_since_(instance.size(), 0),
        version_(instance.size(), 0),
        done_(instance.size(), 0),
        pins_left_(instance.net_count()) {
    for (std::uint32_t net = 0; net < instance.net_count(); ++net) {
      pins_left_[net] = static_cast<std::uint32_t>(instance.pins.of(net).size());
    }
  }

  Order run() && {
    for (std::uint32_t group = 0; group < instance_.size(); ++group) {
      if (waits_[group] == 0) push(group);
    }
    while (!queue_.empty()) {
      const Entry entry = queue_.top();
      queue_.pop();
      if (done_[entry.group] != 0 || entry.version != version_[entry.group]) continue;
      place(entry.group);
    }
    return std::move(order_);
  }

 private:
  struct Entry {
    double change;
    std::uint32_t since;
    std::uint32_t group;
    std::uint32_t version;
    bool operator<(const Entry& other) const {  // greater is better
      if (change != other.change) return change > other.change;
      if (since != other.since) return since < other.since;
      return group > other.group;
    }
  };

  void push(std::uint32_t group) {
    double change = 0;
    for (const std::uint32_t net : instance_.nets_of.of(group)) {
      if (pins_left_[net] == instance_.pins.of(net).size()) change += instance_.net_cost[net];
      if (pins_left_[net] == 1) change -= instance_.net_cost[net];
    }
    queue_.push({change, ready_since_[group], group, ++version_[group]});
  }

  void place(std::uint32_t group) {
    done_[group] = 1;
    order_.push_back(group);
    for (const std::uint32_t next : instance_.successors.of(group)) {
      if (--waits_[next] > 0) continue;
      ready_since_[next] = static_cast<std::uint32_t>(order_.size());
      push(next);
    }
    for (const std::uint32_t net : instance_.nets_of.of(group)) {
      const auto pins = instance_.pins.of(net);
      const bool begun = pins_left_[net]-- == pins.size();
      if (!begun && pins_left_[net] != 1) continue;
      for (const std::uint32_t pin : pins) {
        if (done_[pin] == 0 && waits_[pin] == 0) push(pin);
      }
    }
  }

  const Instance& instance_;
  std::vector<std::uint32_t> waits_;
  std::vector<std::uint32_t> ready_since_;
  std::vector<std::uint32_t> version_;
  std::vector<std::uint8_t> done_;
  std::vector<std::uint32_t> pins_left_;
  std::priority_queue<Entry> queue_;
  Order order_;
};

Order longest_way_first(const Instance& instance) {
  std::vector<double> key(instance.size(), 0);
  for (std::size_t i = instance.size(); i-- > 0;) {
    const auto group = static_cast<std::uint32_t>(i);
    for (const std::uint32_t next : instance.successors.of(group)) {
      key[group] = std::min(key[group], key[next]);
    }
    key[group] -= instance.time[group];
  }
  return order_by_key(instance, key);
}

}  // namespace

Order given_order(const Instance& instance) {
  Order order(instance.size());
  std::iota(order.begin(), order.end(), 0U);
  return order;
}

Order order_by_key(const Instance& instance, std::span<const double> key) {
  std::vector<std::uint32_t> waits = predecessor_counts(instance);
  using Entry = std::pair<double, std::uint32_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
  for (std::uint32_t group = 0; group < instance.size(); ++group) {
    if (waits[group] == 0) ready.emplace(key[group], group);
  }
  Order order;
  order.reserve(instance.size());
  while (!ready.empty()) {
    const std::uint32_t group = ready.top().second;
    ready.pop();
    order.push_back(group);
    for (const std::uint32_t next : instance.successors.of(group)) {
      if (--waits[next] == 0) ready.emplace(key[next], next);
    }
  }
  return order;
}

std::vector<Order> standard_orders(const Instance& instance) {
  Order from_sources = postorder(instance.successors, instance.predecessors);
  std::reverse(from_sources.begin(), from_sources.end());
  return {given_order(instance),
          order_by_readiness(instance, Take::newest),
          order_by_readiness(instance, Take::oldest),
          std::move(from_sources),
          postorder(instance.predecessors, instance.successors),
          LeastLiveCut(instance).run(),
          longest_way_first(instance)};
}

}  // namespace cleave::balance
