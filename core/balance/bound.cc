// Steps:
// 1. simple_bound(): the heaviest group, and the work shared by all devices;
// 2. flow_bound(): for each heavy chain of groups, the least objective for which the chain can be
//    cut into stages whose forced work and transfers fit, found by bisection;
// 3. if that is not tight: the least load of a stage that holds one of the heaviest groups.
#include "core/balance/bound.h"

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "core/balance/capacity.h"
#include "core/balance/chain.h"
#include "core/balance/cut_network.h"

namespace cleave::balance {
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
