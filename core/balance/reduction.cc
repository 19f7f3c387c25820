// Groups that must or may stay together: colours with their cycles, and contraction. The public
// functions are declared in instance.h.
#include <algorithm>
#include <numeric>
#include <utility>

#include "core/balance/instance.h"

namespace cleave::balance {
namespace {

bool has_colours(const BalanceProblem& problem) {
  return std::any_of(problem.items.begin(), problem.items.end(),
                     [](const BalanceItem& item) { return item.colour != kNoItem; });
}

bool all_edges_ascend(const Adjacency& edges) {
  for (std::uint32_t item = 0; item < edges.count(); ++item) {
    for (const std::uint32_t next : edges.of(item)) {
      if (next <= item) return false;
    }
  }
  return true;
}

Components each_for_itself(std::size_t count) {
  Components components;
  components.of.resize(count);
  std::iota(components.of.begin(), components.of.end(), 0U);
  components.count = count;
  return components;
}

// One round of contraction over an instance: decides which group joins which.
class Round {
 public:
  explicit Round(const Instance& instance)
      : instance_(instance),
        target_(each_for_itself(instance.size()).of),
        is_target_(instance.size(), 0),
        may_differ_in_memory_(!instance.fleet->has_caps()) {}

  bool find_merges() {
    bool any = false;
    for (std::uint32_t u = 0; u < instance_.size(); ++u) {
      any = joins_only(u, instance_.successors.of(u)) || any;
      any = joins_only(u, instance_.predecessors.of(u)) || any;
    }
    return any;
  }
  const std::vector<std::uint32_t>& target() const { return target_; }

 private:
  // Several groups may join one target in a round: none changes the others' condition. A group that
  // has joined another, or been joined, does nothing else in that round.
  bool joins_only(std::uint32_t u, std::span<const std::uint32_t> neighbours) {
    if (neighbours.size() != 1 || target_[u] != u || is_target_[u] != 0) return false;
    const std::uint32_t v = neighbours.front();
    if (target_[v] != v || !is_dominated(u, v)) return false;
    target_[u] = v;
    is_target_[v] = 1;
    return true;
  }

  bool is_dominated(std::uint32_t u, std::uint32_t v) const {
    if (!may_differ_in_memory_ && takes_memory(u)) return false;
    if (instance_.host_only[u] != 0 && instance_.host_only[v] == 0) return false;
    double both = 0;   // of nets between the two alone
    double other = 0;  // of u's nets without v
    for (const std::uint32_t net : instance_.nets_of.of(u)) {
      const auto pins = instance_.pins.of(net);
      const bool has_v = std::binary_search(pins.begin(), pins.end(), v);
      if (!has_v) other += instance_.net_cost[net];
      if (has_v && pins.size() == 2) both += instance_.net_cost[net];
    }
    const auto kinds = instance_.fleet->kinds();
    return std::all_of(kinds.begin(), kinds.end(),
                       [&](const DeviceKind& kind) { return never_slower(kind, u, other, both); });
  }

  bool takes_memory(std::uint32_t u) const {
    return instance_.has_activations || instance_.bytes[u] > 0 || !instance_.shared.of(u).empty();
  }

  // Whether a stage on this kind of device gets no slower by taking u in.
  bool never_slower(const DeviceKind& kind, std::uint32_t u, double other, double both) const {
    if (kind.is_host) return instance_.host_time[u] <= 0;
    const double time = instance_.time[u] * kind.time_scale;
    switch (instance_.comm) {
      case CommModel::serial:
        return time + other * kind.comm_scale <= both * kind.comm_scale;
      case CommModel::overlap:
        return time <= 0 && other <= both;
      case CommModel::duplex:
        return time <= 0 && other <= 0;
      case CommModel::none:
        break;
    }
    return time <= 0;
  }

  const Instance& instance_;
  std::vector<std::uint32_t> target_;
  std::vector<std::uint8_t> is_target_;
  bool may_differ_in_memory_;
};

}  // namespace

Components tied_items(const BalanceProblem& problem) {
  const std::size_t count = problem.items.size();
  const bool coloured = has_colours(problem);
  if (!coloured && all_edges_ascend(problem.successors)) return each_for_itself(count);
  // The items of a colour form a ring; together with the order's edges, what it ties is a
  // component.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> by_colour;
  for (std::uint32_t item = 0; item < count; ++item) {
    const std::uint32_t colour = problem.items[item].colour;
    if (colour != kNoItem) by_colour.emplace_back(colour, item);
  }
  std::sort(by_colour.begin(), by_colour.end());
  std::vector<std::uint32_t> next_of_colour(count, kNoItem);
  for (std::size_t first = 0; first < by_colour.size();) {
    std::size_t last = first;
    while (last + 1 < by_colour.size() && by_colour[last + 1].first == by_colour[first].first) {
      next_of_colour[by_colour[last].second] = by_colour[last + 1].second;
      ++last;
    }
    next_of_colour[by_colour[last].second] = by_colour[first].second;
    first = last + 1;
  }
  Adjacency edges;
  for (std::uint32_t item = 0; item < count; ++item) {
    for (const std::uint32_t next : problem.successors.of(item)) edges.add(next);
    if (next_of_colour[item] != kNoItem) edges.add(next_of_colour[item]);
    edges.end_list();
  }
  return strongly_connected_components(edges);
}

Instance contracted(Instance instance) {
  if (instance.fleet->exact_stages()) return instance;  // may need the groups to be separate
  for (;;) {
    Round round(instance);
    if (!round.find_merges()) return instance;
    std::vector<std::uint32_t> number(instance.size(), 0);
    std::uint32_t count = 0;
    for (std::uint32_t group = 0; group < instance.size(); ++group) {
      if (round.target()[group] == group) number[group] = count++;
    }
    std::vector<std::uint32_t> group_of = std::move(instance.group_of);
    for (std::uint32_t& group : group_of) group = number[round.target()[group]];
    instance = make_instance(*instance.problem, *instance.fleet, instance.comm, group_of, count);
  }
}

}  // namespace cleave::balance
