#include "core/balance/bound.h"

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "core/balance/capacity.h"

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

// Steps of heavy_chains():
// 1. find the longest path by time, by cost of nets, and by number of groups;
// 2. thin out long paths, and drop equal ones;
// 3. for each chain, find what every run of its links forces into a stage, and the nets at its
//    links.

namespace {

// The path with the greatest sum of weights; groups ascend along edges.
std::vector<std::uint32_t> longest_path(const Instance& instance,
                                        const std::vector<double>& weight) {
  std::vector<double> length(instance.size(), 0);
  std::vector<std::uint32_t> next(instance.size(), kNoItem);
  std::uint32_t start = 0;
  for (std::size_t i = instance.size(); i-- > 0;) {
    const auto group = static_cast<std::uint32_t>(i);
    for (const std::uint32_t other : instance.successors.of(group)) {
      if (next[group] == kNoItem || length[other] > length[next[group]]) next[group] = other;
    }
    length[group] = weight[group] + (next[group] == kNoItem ? 0 : length[next[group]]);
    if (length[group] >= length[start]) start = group;
  }
  std::vector<std::uint32_t> path;
  for (std::uint32_t group = start; group != kNoItem; group = next[group]) path.push_back(group);
  return path;
}

// One link in each equal share of the path's weight.
std::vector<std::uint32_t> thinned(const std::vector<std::uint32_t>& path,
                                   const std::vector<double>& weight, std::size_t most) {
  if (path.size() <= most) return path;
  double total = 0;
  for (const std::uint32_t group : path) total += weight[group];
  std::vector<std::uint32_t> links;
  double sum = 0;
  for (const std::uint32_t group : path) {
    const auto next = static_cast<double>(links.size());
    if (sum >= next * total / static_cast<double>(most)) links.push_back(group);
    sum += weight[group];
  }
  return links;
}

double sum_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum > 0 ? sum : 1;
}

}  // namespace

Chain::Chain(const Instance& instance, std::vector<std::uint32_t> links)
    : instance_(instance),
      links_(std::move(links)),
      after_(instance.size(), 0),
      before_(instance.size(), size() + 1) {
  place_groups();
  sum_forced();
  find_nets();
}

void Chain::place_groups() {
  for (std::uint32_t i = 0; i < size(); ++i) after_[links_[i]] = before_[links_[i]] = i + 1;
  for (std::uint32_t group = 0; group < instance_.size(); ++group) {
    for (const std::uint32_t other : instance_.predecessors.of(group)) {
      after_[group] = std::max(after_[group], after_[other]);
    }
  }
  for (std::size_t i = instance_.size(); i-- > 0;) {
    const auto group = static_cast<std::uint32_t>(i);
    for (const std::uint32_t other : instance_.successors.of(group)) {
      before_[group] = std::min(before_[group], before_[other]);
    }
  }
}

// Sums over the groups with after >= first and before <= last: two running sums.
void Chain::sum_forced() {
  const std::uint32_t n = size();
  forced_.assign(std::size_t{n} * n, {});
  const auto cell = [&](std::uint32_t first, std::uint32_t last) -> Forced& {
    return forced_[std::size_t{first - 1} * n + (last - 1)];
  };
  for (std::uint32_t group = 0; group < instance_.size(); ++group) {
    if (after_[group] == 0 || before_[group] > n) continue;
    Forced& sum = cell(after_[group], before_[group]);
    const bool host_only = instance_.host_only[group] != 0;
    sum.time += host_only ? 0 : instance_.time[group];
    sum.host_time += instance_.host_time[group];
    sum.bytes += instance_.bytes[group];
    sum.host_only += host_only ? 1 : 0;
  }
  const auto accumulate = [](Forced& sum, const Forced& other) {
    sum.time += other.time;
    sum.host_time += other.host_time;
    sum.bytes += other.bytes;
    sum.host_only += other.host_only;
  };
  for (std::uint32_t first = 1; first <= n; ++first) {
    for (std::uint32_t last = 2; last <= n; ++last) {
      accumulate(cell(first, last), cell(first, last - 1));
    }
  }
  for (std::uint32_t first = n; first-- > 1;) {
    for (std::uint32_t last = 1; last <= n; ++last) {
      accumulate(cell(first, last), cell(first + 1, last));
    }
  }
}

// A net matters at border b unless all its pins are before link b, or all are at or after it.
void Chain::find_nets() {
  std::vector<std::vector<std::uint32_t>> at(size() + 2);
  for (std::uint32_t net = 0; net < instance_.net_count(); ++net) {
    std::uint32_t least_after = kNoItem;
    std::uint32_t greatest_before = 0;
    for (const std::uint32_t group : instance_.pins.of(net)) {
      least_after = std::min(least_after, after_[group]);
      greatest_before = std::max(greatest_before, before_[group]);
    }
    const std::uint32_t last = std::min(greatest_before, size() + 1);
    for (std::uint32_t border = least_after + 1; border <= last; ++border) {
      at[border].push_back(net);
    }
  }
  for (const std::vector<std::uint32_t>& nets : at) {
    for (const std::uint32_t net : nets) nets_at_.add(net);
    nets_at_.end_list();
  }
}

std::vector<Chain> heavy_chains(const Instance& instance, std::size_t most) {
  const double time_share = sum_of(instance.time);
  const double cost_share = sum_of(instance.net_cost);
  const auto count = static_cast<double>(instance.size());
  std::vector<double> by_time(instance.size());
  std::vector<double> by_cost(instance.size(), 1e-4);
  std::vector<double> by_count(instance.size(), 1);
  for (std::uint32_t group = 0; group < instance.size(); ++group) {
    by_time[group] = instance.time[group] / time_share + 1e-2 / count;
    by_cost[group] = instance.time[group] / time_share * 0.1 + 1e-2 / count;
    for (const std::uint32_t net : instance.nets_of.of(group)) {
      by_cost[group] += instance.net_cost[net] / cost_share;
    }
  }
  std::vector<std::vector<std::uint32_t>> paths;
  for (const auto& weight : {std::move(by_time), std::move(by_cost), std::move(by_count)}) {
    std::vector<std::uint32_t> path = thinned(longest_path(instance, weight), weight, most);
    if (std::find(paths.begin(), paths.end(), path) == paths.end()) {
      paths.push_back(std::move(path));
    }
  }
  std::vector<Chain> chains;
  chains.reserve(paths.size());
  for (std::vector<std::uint32_t>& path : paths) chains.emplace_back(instance, std::move(path));
  return chains;
}

// Steps of flow_bound():
// 1. simple_bound(): the heaviest group, and the work shared by all devices;
// 2. flow_bound(): for each heavy chain of groups, the least objective for which the chain can be
//    cut into stages whose forced work and transfers fit, found by bisection;
// 3. if that is not tight: the least load of a stage that holds one of the heaviest groups.

namespace {

constexpr double kRoundDown = 1 - 1e-9;
constexpr int kBisections = 48;
constexpr std::size_t kLongestChain = 500;
constexpr std::size_t kMostNetsAtLinks = 20'000'000;

// The least objective for which `reachable` holds, from below; it holds for `high`.
double bisect(double low, double high, const std::function<bool(double)>& reachable) {
  if (reachable(low)) return low;
  for (int i = 0; i < kBisections && high - low > 1e-10 * high; ++i) {
    const double middle = (low + high) / 2;
    (reachable(middle) ? high : low) = middle;
  }
  return low;
}

double single_load(const Instance& instance, std::uint32_t group) {
  double least = kUnlimited;
  for (const DeviceKind& kind : instance.fleet->kinds()) {
    if (!kind.is_host && instance.host_only[group] != 0) continue;
    const double load =
        kind.is_host ? instance.host_time[group] : instance.time[group] * kind.time_scale;
    least = std::min(least, load);
  }
  return least;
}

// The bound of one chain.
class ChainBound {
 public:
  ChainBound(const Instance& instance, const Capacity& capacity, const Chain& chain,
             CutNetwork& network, const BoundOptions& options)
      : instance_(instance),
        capacity_(capacity),
        chain_(chain),
        network_(network),
        options_(options),
        stamp_(instance.net_count(), 0) {
    for (const DeviceKind& kind : instance.fleet->kinds()) {
      if (kind.is_host) continue;
      time_scale_ = std::min(time_scale_, kind.time_scale);
      comm_scale_ = std::min(comm_scale_, kind.comm_scale);
    }
    if (time_scale_ == kUnlimited) time_scale_ = comm_scale_ = 0;  // hosts only
  }

  double run(double low) {
    for (std::uint32_t first = 1; first <= chain_.size(); ++first) find_runs(first);
    const auto in_reach = [&](double objective) {
      return work_fits(objective) && transfers_fit(objective);
    };
    return bisect(low, options_.reached, in_reach);
  }

 private:
  struct Run {  // a stage that holds the links first..last
    std::uint32_t last = 0;
    double cut = 0;            // m: the least cost of its nets
    double cut_with_time = 0;  // f: the least of that and of its time
  };

  bool may_be_host(std::uint32_t first, std::uint32_t last) const {
    return instance_.fleet->has_host() && chain_.forced(first, last).host_time < options_.reached;
  }
  bool may_be_accelerator(std::uint32_t first, std::uint32_t last) const {
    const Chain::Forced& forced = chain_.forced(first, last);
    return forced.host_only == 0 && forced.time * time_scale_ < options_.reached;
  }

  void find_runs(std::uint32_t first) {
    runs_begin_.push_back(runs_.size());
    for (std::uint32_t last = first; last <= chain_.size(); ++last) {
      const bool accelerated = may_be_accelerator(first, last);
      if (!accelerated && !may_be_host(first, last)) break;
      Run run{.last = last};
      if (accelerated && may_measure()) measure(first, run);
      run.cut_with_time = std::max(run.cut_with_time, chain_.forced(first, last).time);
      runs_.push_back(run);
    }
    if (first == chain_.size()) runs_begin_.push_back(runs_.size());
  }

  bool may_measure() const {
    tell(options_.progress, {"bounding stages", "steps", network_.steps(), options_.flow_steps});
    const bool is_late = options_.deadline != nullptr && options_.deadline->has_passed();
    return network_.steps() < options_.flow_steps && !is_late;
  }

  void measure(std::uint32_t first, Run& run) {
    network_.start();
    ++now_;
    add_nets(first, first, run.last);
    add_nets(run.last + 1, first, run.last);
    const double time = chain_.forced(first, run.last).time;
    const double scale = std::min(time_scale_, comm_scale_);
    const double enough = scale > 0 ? options_.reached * 2 / scale : kUnlimited;
    run.cut = network_.least_cut(enough);
    run.cut_with_time = time + run.cut;
    if (instance_.comm != CommModel::serial || run.cut_with_time * scale >= options_.reached)
      return;
    run.cut_with_time = time + network_.least_cut_with_time(enough);
  }

  void add_nets(std::uint32_t border, std::uint32_t first, std::uint32_t last) {
    const auto side_of = [&](std::uint32_t group) { return chain_.side(group, first, last); };
    for (const std::uint32_t net : chain_.nets_at(border)) {
      if (std::exchange(stamp_[net], now_) != now_) network_.add_net(net, side_of);
    }
  }

  bool fits(std::uint32_t first, const Run& run, const DeviceKind& kind, double objective) const {
    const Chain::Forced& forced = chain_.forced(first, run.last);
    if (kind.is_host) return forced.host_time <= objective;
    if (forced.host_only > 0 || forced.bytes > kind.memory) return false;
    const double time = forced.time * kind.time_scale;
    const double cut = run.cut * kind.comm_scale;
    switch (instance_.comm) {
      case CommModel::serial:
        return std::max(time + cut, run.cut_with_time *
                                        std::min(kind.time_scale, kind.comm_scale)) <= objective;
      case CommModel::overlap:
        return std::max(time, cut) <= objective;
      case CommModel::duplex:
        return std::max(time, cut / 2) <= objective;
      case CommModel::none:
        break;
    }
    return time <= objective;
  }

  // Whether some cut of the chain leaves devices with room for all the work.
  bool work_fits(double objective) {
    const auto room = [&](const DeviceKind& kind, double cut) {
      return capacity_.of(kind, objective, cut);
    };
    return most_over_cuts(objective, room) >= capacity_.total_time() * kRoundDown;
  }

  // Whether devices have time for all transfers, in the models where these overlap with compute.
  bool transfers_fit(double objective) {
    if (instance_.comm == CommModel::serial || instance_.comm == CommModel::none) return true;
    const double lanes = instance_.comm == CommModel::duplex ? 2 : 1;
    const auto room = [&](const DeviceKind& kind, double cut) {
      return lanes * objective - cut * kind.comm_scale;
    };
    return most_over_cuts(objective, room) >= 0;
  }

  // The greatest sum of `room` over the devices, over all cuts of the chain into runs that fit.
  template <class Room>
  double most_over_cuts(double objective, Room room) {
    const Fleet& fleet = *instance_.fleet;
    const std::size_t states = fleet.state_count();
    most_.assign((chain_.size() + 1) * states, -kUnlimited);
    most_[0] = 0;
    std::vector<double> unused;
    for (const DeviceKind& kind : fleet.kinds()) unused.push_back(room(kind, 0));
    for (std::uint32_t link = 0; link <= chain_.size(); ++link) {
      double* const here = &most_[link * states];
      for (std::uint32_t state = 0; state < states; ++state) {
        for (const Step& step : fleet.steps(state)) {
          here[step.to] = std::max(here[step.to], here[state] + unused[step.kind]);
        }
      }
      if (link == chain_.size()) break;
      for (std::size_t i = runs_begin_[link]; i < runs_begin_[link + 1]; ++i) {
        extend(link, runs_[i], objective, room);
      }
    }
    return most_.back();
  }

  template <class Room>
  void extend(std::uint32_t link, const Run& run, double objective, Room room) {
    const Fleet& fleet = *instance_.fleet;
    const std::size_t states = fleet.state_count();
    room_.clear();
    for (const DeviceKind& kind : fleet.kinds()) {
      const bool is_possible = fits(link + 1, run, kind, objective);
      room_.push_back(is_possible ? room(kind, kind.is_host ? 0 : run.cut) : -kUnlimited);
    }
    const double* const here = &most_[link * states];
    double* const there = &most_[run.last * states];
    for (std::uint32_t state = 0; state < states; ++state) {
      if (here[state] == -kUnlimited) continue;
      for (const Step& step : fleet.steps(state)) {
        there[step.to] = std::max(there[step.to], here[state] + room_[step.kind]);
      }
    }
  }

  const Instance& instance_;
  const Capacity& capacity_;
  const Chain& chain_;
  CutNetwork& network_;
  const BoundOptions& options_;
  double time_scale_ = kUnlimited;  // of the fastest accelerator
  double comm_scale_ = kUnlimited;
  std::vector<std::uint32_t> stamp_;
  std::uint32_t now_ = 0;
  std::vector<Run> runs_;
  std::vector<std::size_t> runs_begin_;  // by first link
  std::vector<double> most_;             // by link and state
  std::vector<double> room_;             // by kind
};

// The least load of a stage that holds the group: its time, its nets, and what it may bring along.
double best_stage_with(const Instance& instance, std::uint32_t group, CutNetwork& network) {
  network.start();
  const auto side_of = [&](std::uint32_t other) { return other == group ? Side::in : Side::open; };
  for (std::uint32_t net = 0; net < instance.net_count(); ++net) network.add_net(net, side_of);
  return instance.time[group] + network.least_cut_with_time(kUnlimited);
}

// The bound from groups whose nets alone put them above `low`, the heaviest first.
double single_stage_bound(const Instance& instance, double low, CutNetwork& network,
                          const BoundOptions& options) {
  if (instance.comm != CommModel::serial || !instance.fleet->is_uniform()) return low;
  const DeviceKind& kind = instance.fleet->kinds().front();
  const double scale = std::min(kind.time_scale, kind.comm_scale);
  std::vector<std::pair<double, std::uint32_t>> heavy;
  for (std::uint32_t group = 0; group < instance.size(); ++group) {
    double load = instance.time[group];
    for (const std::uint32_t net : instance.nets_of.of(group)) load += instance.net_cost[net];
    if (load * scale > low) heavy.emplace_back(-load, group);
  }
  std::sort(heavy.begin(), heavy.end());
  for (const auto& [load, group] : heavy) {
    if (network.steps() >= options.flow_steps || -load * scale <= low) break;
    low = std::max(low, scale * best_stage_with(instance, group, network));
  }
  return std::min(low, options.reached);
}

}  // namespace

Bound simple_bound(const Instance& instance) {
  const Capacity capacity(instance);
  double single = 0;
  for (std::uint32_t group = 0; group < instance.size(); ++group) {
    single = std::max(single, single_load(instance, group));
  }
  double high = std::max(single, 1e-300);
  const auto fits = [&](double objective) {
    return capacity.of_fleet(objective) >= capacity.total_time() * kRoundDown;
  };
  for (int i = 0; i < 2000 && !fits(high); ++i) high *= 2;
  const double work = bisect(0, high, fits);
  return {std::max(single, work) * kRoundDown, single >= work ? "single-node" : "work"};
}

Bound flow_bound(const Instance& instance, const BoundOptions& options) {
  Bound bound = simple_bound(instance);
  const auto raise = [&](double objective, const char* certificate) {
    if (objective * kRoundDown <= bound.objective) return;
    bound = {objective * kRoundDown, certificate};
  };
  const Capacity capacity(instance);
  CutNetwork network(instance);
  const std::size_t links =
      std::clamp<std::size_t>(kMostNetsAtLinks / (instance.net_count() + 1), 16, kLongestChain);
  for (const Chain& chain : heavy_chains(instance, links)) {
    const bool is_tight = bound.objective >= options.reached * (1 - 4e-9);
    const bool is_late = options.deadline != nullptr && options.deadline->has_passed();
    if (is_tight || is_late || network.steps() >= options.flow_steps) break;
    ChainBound chain_bound(instance, capacity, chain, network, options);
    raise(chain_bound.run(bound.objective), "path-mincut");
  }
  if (bound.objective < options.reached * (1 - 4e-9)) {
    raise(single_stage_bound(instance, bound.objective, network, options), "single-node");
  }
  return bound;
}

}  // namespace cleave::balance
