// Balancing exactly: capacities, lower bounds, branch and bound.

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>
#include <vector>

#include "core/base/words.h"
#include "core/stages/solvers.h"

namespace cleave::balance {

// ---- capacity ----

Capacity::Capacity(const Instance& instance) : instance_(instance) {
  for (std::uint32_t group = 0; group < instance.size(); ++group) {
    total_time_ += time_of(instance, group);
  }
  if (!instance.fleet->has_host()) return;
  std::vector<std::uint32_t> by_saving(instance.size());
  std::iota(by_saving.begin(), by_saving.end(), 0U);
  const auto saves_more = [&](std::uint32_t a, std::uint32_t b) {
    const double x = time_of(instance, a) * instance.host_time[b];
    const double y = time_of(instance, b) * instance.host_time[a];
    return x != y ? x > y : a < b;
  };
  std::erase_if(by_saving, [&](std::uint32_t group) { return time_of(instance, group) <= 0; });
  std::ranges::sort(by_saving, saves_more);
  host_time_before_ = {0};
  time_before_ = {0};
  for (const std::uint32_t group : by_saving) {
    host_time_before_.push_back(host_time_before_.back() + instance.host_time[group]);
    time_before_.push_back(time_before_.back() + time_of(instance, group));
  }
}

double Capacity::of_host(double objective) const {
  const auto above = std::ranges::upper_bound(host_time_before_, objective);
  if (above == host_time_before_.end()) return time_before_.back();
  const auto i = static_cast<std::size_t>(above - host_time_before_.begin());
  const double part =
      (objective - host_time_before_[i - 1]) / (host_time_before_[i] - host_time_before_[i - 1]);
  return time_before_[i - 1] + part * (time_before_[i] - time_before_[i - 1]);
}

double Capacity::of(const DeviceKind& kind, double objective, double transfers) const {
  if (kind.is_host) return of_host(objective);
  const bool adds = instance_.comm == CommModel::serial;
  const double left = adds ? objective - transfers * kind.comm_scale : objective;
  return std::max(0.0, left) / kind.time_scale;
}

double Capacity::of_fleet(double objective) const {
  double sum = 0;
  for (const std::uint32_t kind : instance_.fleet->kind_of_device()) {
    sum += of(instance_.fleet->kinds()[kind], objective, 0);
  }
  return sum;
}

StageMemory::StageMemory(const Instance& instance)
    : problem_(*instance.problem), instance_(instance) {
  if (!instance.has_activations) return;
  Adjacency producers;
  for (const BalanceNet& net : problem_.nets) {
    if (net.producer != kNoItem) producers.add(net.producer);
    producers.end_list();
  }
  made_ = reversed(producers, problem_.items.size());
  read_ = reversed(problem_.consumers, problem_.items.size());
  stamp_.assign(problem_.items.size(), 0);
  net_stamp_.assign(problem_.nets.size(), 0);
  dies_.assign(problem_.items.size(), 0);
}

double StageMemory::activation_bytes(std::span<const std::uint32_t> groups) {
  ++now_;
  items_.clear();
  for (const std::uint32_t group : groups) {
    for (const std::uint32_t item : instance_.items_of.of(group)) {
      items_.push_back(item);
      stamp_[item] = now_;
      dies_[item] = 0;
    }
  }
  std::ranges::sort(items_);
  const double inputs = input_bytes_and_lives();
  double live = 0;
  double peak = 0;
  for (const std::uint32_t item : items_) {
    for (const std::uint32_t net : made_.of(item)) live += problem_.nets[net].bytes;
    peak = std::max(peak, live);
    live -= dies_[item];
  }
  return inputs + peak;
}

// Returns the bytes of values made elsewhere, and records in dies_ where the stage's own values
// end.
double StageMemory::input_bytes_and_lives() {
  double inputs = 0;
  for (const std::uint32_t item : items_) {
    for (const std::uint32_t net : made_.of(item)) {
      std::uint32_t last = item;
      bool stays = !problem_.nets[net].is_output;
      for (const std::uint32_t reader : problem_.consumers.of(net)) {
        stays = stays && in_stage(reader);
        last = std::max(last, reader);
      }
      if (stays) dies_[last] += problem_.nets[net].bytes;
    }
    for (const std::uint32_t net : read_.of(item)) {
      const std::uint32_t producer = problem_.nets[net].producer;
      const bool is_own = producer != kNoItem && in_stage(producer);
      if (is_own || net_stamp_[net] == now_) continue;
      net_stamp_[net] = now_;
      inputs += problem_.nets[net].bytes;
    }
  }
  return inputs;
}

// ---- bound ----

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
    if (!contains(paths, path)) {
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

// A bound is a promise: it is rounded down by more than the sums that it is made of may be wrong.
constexpr double kRoundDown = 1 - 1e-9;
// Halvings of a range of objectives: 48 leave a part in 2.8e14, less than a double of that size can be wrong
// after a few sums. As a rule the relative difference of 1e-10 ends it after some 30.
constexpr int kBisections = 48;
// Links of a chain. Each pair of links may be asked for a minimum cut, so the cost grows with the square.
constexpr std::size_t kLongestChain = 500;
// Links times nets: what crosses is looked at for each link, so a chain has fewer links where nets are many.
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
  std::ranges::sort(heavy);
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

// ---- exact ----

Ideals::Ideals(const Instance& instance)
    : instance_(instance), words_(instance.size() / 64 + 1), table_(1024, kNoItem) {
  // A code for each group, and the sum of the codes of its groups is an ideal's hash: a group that
  // joins costs one addition. The start is the digits of pi; any other would do.
  std::uint64_t code = 0x243F6A8885A308D3U;
  for (std::size_t group = 0; group < instance.size(); ++group) {
    code = (code ^ (code >> 29U)) * 0xBF58476D1CE4E5B9U + 0x9E3779B97F4A7C15U;
    code_.push_back(code ^ (code >> 31U));
  }
  made_.assign(words_, 0);
  find_or_add(0);
}

std::optional<Ideals> Ideals::enumerate(const Instance& instance, std::size_t most) {
  Ideals ideals(instance);
  for (std::uint32_t ideal = 0; ideal < ideals.hash_.size(); ++ideal) {
    if (!ideals.expand(ideal, most)) return std::nullopt;
  }
  ideals.sets_ = {};
  ideals.table_ = {};
  ideals.hash_ = {};
  return ideals;
}

// Ideals are found in order of size, so every ideal that leads to one comes before it.
bool Ideals::expand(std::uint32_t ideal, std::size_t most) {
  find_ready(ideal);
  for (const std::uint32_t group : ready_) {
    const auto first = sets_.begin() + static_cast<std::ptrdiff_t>(ideal * words_);
    std::copy(first, first + static_cast<std::ptrdiff_t>(words_), made_.begin());
    made_[group / 64] |= std::uint64_t{1} << (group % 64);
    next_.push_back({group, find_or_add(hash_[ideal] + code_[group])});
    if (hash_.size() > most) return false;
  }
  next_begin_.push_back(next_.size());
  return true;
}

// A group is ready when it is outside and all its predecessors are inside. Searches word by word:
// groups ascend along edges, so except in wide graphs no ready group is far beyond the first one
// outside.
void Ideals::find_ready(std::uint32_t ideal) {
  ready_.clear();
  const std::span<const std::uint64_t> set(&sets_[ideal * words_], words_);
  for (std::uint32_t group = 0; group < instance_.size(); ++group) {
    if (group % 64 == 0 && set[group / 64] == ~std::uint64_t{0}) {
      group += 63;
      continue;
    }
    if (holds(set, group)) continue;
    const bool is_ready = std::ranges::all_of(
        instance_.predecessors.of(group), [&](std::uint32_t other) { return holds(set, other); });
    if (is_ready) ready_.push_back(group);
  }
}

std::uint32_t Ideals::find_or_add(std::uint64_t hash) {
  // At most half full: with linear probing, a search then ends after a few slots.
  if (hash_.size() * 2 >= table_.size()) grow_table();
  std::size_t slot = hash & (table_.size() - 1);
  while (table_[slot] != kNoItem) {
    const std::uint32_t ideal = table_[slot];
    const auto first = sets_.begin() + static_cast<std::ptrdiff_t>(ideal * words_);
    if (hash_[ideal] == hash && std::equal(made_.begin(), made_.end(), first)) return ideal;
    slot = (slot + 1) & (table_.size() - 1);
  }
  const auto ideal = static_cast<std::uint32_t>(hash_.size());
  table_[slot] = ideal;
  hash_.push_back(hash);
  sets_.insert(sets_.end(), made_.begin(), made_.end());
  return ideal;
}

void Ideals::grow_table() {
  table_.assign(table_.size() * 2, kNoItem);
  for (std::uint32_t ideal = 0; ideal < hash_.size(); ++ideal) {
    std::size_t slot = hash_[ideal] & (table_.size() - 1);
    while (table_[slot] != kNoItem) slot = (slot + 1) & (table_.size() - 1);
    table_[slot] = ideal;
  }
}

// The dynamic program over ideals. For each ideal, in order:
// 1. pass over devices that may stay unused;
// 2. list the states that can still lead to a better assignment;
// 3. grow a stage above the ideal, group by group and depth first, price it for each kind of
//    device, and record each improvement.

namespace {

constexpr std::size_t kMostCells = 4'000'000;  // of the table: 100 MB

// A stage that grows and shrinks at its end, group by group.
class GrowingStage {
 public:
  explicit GrowingStage(const Instance& instance)
      : target_time(instance.targets, 0),
        refused(instance.targets, 0),
        instance_(instance),
        pins_in_(instance.net_count(), 0),
        home_in_(instance.net_count(), 0),
        users_in_(instance.problem->shared_bytes.size(), 0) {}

  void clear() {
    while (!groups_.empty()) pop();
    time = host_time = in = out = bytes = 0;  // clears rounding errors
    std::ranges::fill(target_time, 0);
  }

  void push(std::uint32_t group) {
    groups_.push_back(group);
    move(group, 1);
  }

  void pop() {
    move(groups_.back(), -1);
    groups_.pop_back();
  }

  const std::vector<std::uint32_t>& groups() const { return groups_; }

  double time_on(const DeviceKind& kind) const {
    return target_time.empty() || kind.is_host ? time : target_time[kind.target];
  }
  bool is_taken_by(const DeviceKind& kind) const {
    return target_time.empty() ? host_only == 0 : refused[kind.target] == 0;
  }

  double time = 0, host_time = 0, in = 0, out = 0, bytes = 0;
  std::uint32_t host_only = 0;
  std::vector<double> target_time;     // of several targets: on each, without what it refuses
  std::vector<std::uint32_t> refused;  // groups

 private:
  // Adds what the group has to the stage, `sign` 1, or takes it away, -1.
  void move(std::uint32_t group, int sign) {
    const auto steps = static_cast<std::uint32_t>(sign);  // -1 wraps
    time += sign * instance_.time[group];
    host_time += sign * instance_.host_time[group];
    bytes += sign * instance_.bytes[group];
    host_only += steps * instance_.host_only[group];
    for (std::size_t target = 0; target < instance_.targets; ++target) {
      const double there = instance_.target_time[group * instance_.targets + target];
      target_time[target] += sign * std::max(0.0, there);
      refused[target] += there < 0 ? steps : 0;
    }
    for (const std::uint32_t net : instance_.nets_of.of(group)) {
      count(net, -1);
      pins_in_[net] += steps;
      if (instance_.net_home[net] == group) home_in_[net] = sign > 0;
      count(net, 1);
    }
    for (const std::uint32_t shared : instance_.shared.of(group)) {
      const bool is_last = users_in_[shared] == (sign > 0 ? 0U : 1U);
      users_in_[shared] += steps;
      if (is_last) bytes += sign * instance_.problem->shared_bytes[shared];
    }
  }

  void count(std::uint32_t net, double sign) {
    const std::uint32_t pins = pins_in_[net];
    if (pins == 0 || pins == instance_.pins.of(net).size()) return;
    (home_in_[net] != 0 ? out : in) += sign * instance_.net_cost[net];
  }

  const Instance& instance_;
  std::vector<std::uint32_t> groups_;
  std::vector<std::uint32_t> pins_in_;  // by net
  std::vector<std::uint8_t> home_in_;
  std::vector<std::uint32_t> users_in_;  // by shared parameter
};

class ExactSearch {
 public:
  ExactSearch(const Instance& instance, const Ideals& ideals, const ExactOptions& options)
      : instance_(instance),
        fleet_(*instance.fleet),
        ideals_(ideals),
        options_(options),
        states_(fleet_.state_count()),
        best_(ideals.count() * states_, kUnlimited),
        choice_(ideals.count() * states_),
        seen_from_(ideals.count(), kNoItem),
        cost_(fleet_.kinds().size(), kUnlimited),
        stage_(instance),
        memory_(instance) {
    const Capacity capacity(instance);
    measure_rest(capacity);
    measure_room(capacity);
  }

  ExactResult run() {
    best_[0] = 0;
    for (std::uint32_t ideal = 0; ideal < ideals_.count(); ++ideal) {
      pass_over_devices(ideal);
      if (!find_active(ideal)) continue;
      grow_stages(ideal);
      if (is_given_up_) return {};
    }
    return {.is_complete = true, .best = best_candidate()};
  }

 private:
  struct Choice {
    std::uint32_t from = 0;  // ideal
    std::uint16_t state = 0;
    std::uint16_t kind = 0;
  };
  static constexpr std::uint16_t kSkipped = 0xFFFF;
  struct Open {  // an ideal on the current path, and the next step to try from it
    std::uint32_t ideal;
    std::size_t next;
  };

  std::size_t at(std::size_t ideal, std::size_t state) const { return ideal * states_ + state; }

  // The compute left after each ideal.
  void measure_rest(const Capacity& capacity) {
    rest_.assign(ideals_.count(), capacity.total_time());
    for (std::uint32_t ideal = 0; ideal < ideals_.count(); ++ideal) {
      for (const Ideals::Next& next : ideals_.next(ideal)) {
        rest_[next.ideal] = rest_[ideal] - Capacity::time_of(instance_, next.group);
      }
    }
  }

  // The compute that the devices left in each state can do.
  void measure_room(const Capacity& capacity) {
    room_.assign(states_, 0);
    for (std::size_t state = states_; state-- > 0;) {
      for (const Step& step : fleet_.steps(static_cast<std::uint32_t>(state))) {
        const double more = options_.below == kUnlimited
                                ? kUnlimited
                                : capacity.of(fleet_.kinds()[step.kind], options_.below, 0);
        room_[state] = std::max(room_[state], room_[step.to] + more);
      }
    }
  }

  void pass_over_devices(std::uint32_t ideal) {
    if (!fleet_.may_skip()) return;
    for (std::size_t state = 0; state + 1 < states_; ++state) {
      if (best_[at(ideal, state)] >= best_[at(ideal, state + 1)]) continue;
      best_[at(ideal, state + 1)] = best_[at(ideal, state)];
      choice_[at(ideal, state + 1)] = {ideal, static_cast<std::uint16_t>(state), kSkipped};
    }
  }

  bool find_active(std::uint32_t ideal) {
    active_.clear();
    for (std::uint32_t state = 0; state < states_; ++state) {
      const bool is_reached = best_[at(ideal, state)] < options_.below;
      if (is_reached && rest_[ideal] <= room_[state] * (1 + 1e-9)) active_.push_back(state);
    }
    return !active_.empty();
  }

  // Visits the ideals above `from`, each once, with the stage between.
  void grow_stages(std::uint32_t from) {
    stage_.clear();
    walk_.assign(1, {from, 0});
    while (!walk_.empty()) {
      Open& open = walk_.back();
      const auto next = ideals_.next(open.ideal);
      if (open.next == next.size()) {
        if (walk_.size() > 1) stage_.pop();
        walk_.pop_back();
        continue;
      }
      const Ideals::Next& step = next[open.next++];
      if (seen_from_[step.ideal] == from) continue;
      seen_from_[step.ideal] = from;
      stage_.push(step.group);
      if (!price()) {
        stage_.pop();
        continue;
      }
      extend(from, step.ideal);
      if (is_given_up_) return;
      walk_.push_back({step.ideal, 0});
    }
  }

  // Prices the stage by kind; false when neither it nor a larger one can be below the limit.
  bool price() {
    ++stages_tried_;
    // So rarely that neither the report nor the clock shows in the time of the search.
    if (stages_tried_ % 65536 == 0) {
      tell(options_.progress, {"searching exactly", "stages", stages_tried_, options_.most_stages});
    }
    is_given_up_ = stages_tried_ > options_.most_stages ||
                   (stages_tried_ % 65536 == 0 && options_.deadline != nullptr &&
                    options_.deadline->has_passed());
    bool may_grow = false;
    for (std::size_t i = 0; i < cost_.size(); ++i) {
      const DeviceKind& kind = fleet_.kinds()[i];
      const double time = stage_.time_on(kind);
      const double compute = kind.is_host ? stage_.host_time : time * kind.time_scale;
      const bool fits = kind.is_host || (stage_.is_taken_by(kind) && stage_.bytes <= kind.memory);
      cost_[i] = kUnlimited;
      if (!fits || compute >= options_.below) continue;
      may_grow = true;
      cost_[i] = instance_.load(kind, time, stage_.host_time, stage_.in, stage_.out);
    }
    return may_grow;
  }

  void extend(std::uint32_t from, std::uint32_t ideal) {
    bool is_checked = !instance_.has_activations;
    for (const std::uint32_t state : active_) {
      const double so_far = best_[at(from, state)];
      for (const Step& step : fleet_.steps(state)) {
        const double objective = std::max(so_far, cost_[step.kind]);
        const std::size_t to = at(ideal, step.to);
        if (!(objective < options_.below) || objective >= best_[to]) continue;
        if (!std::exchange(is_checked, true)) check_activations();
        if (cost_[step.kind] == kUnlimited) continue;
        best_[to] = objective;
        choice_[to] = {from, static_cast<std::uint16_t>(state),
                       static_cast<std::uint16_t>(step.kind)};
      }
    }
  }

  // Live values take memory too: sets the price of kinds that cannot hold the stage to unlimited.
  void check_activations() {
    const double bytes = stage_.bytes + memory_.activation_bytes(stage_.groups());
    for (std::size_t i = 0; i < cost_.size(); ++i) {
      if (bytes > fleet_.kinds()[i].memory) cost_[i] = kUnlimited;
    }
  }

  Candidate best_candidate() {
    const auto last = static_cast<std::uint32_t>(ideals_.count() - 1);
    pass_over_devices(last);
    std::size_t state = states_ - 1;
    for (std::size_t other = 0; other < states_ && !fleet_.exact_stages(); ++other) {
      if (best_[at(last, other)] < best_[at(last, state)]) state = other;
    }
    Candidate candidate;
    candidate.objective = best_[at(last, state)];
    if (candidate.objective == kUnlimited) return candidate;
    std::vector<std::uint32_t> bounds = {last};  // ideals between stages, from the end
    for (std::uint32_t ideal = last; ideal != 0 || state != 0;) {
      const Choice choice = choice_[at(ideal, state)];
      if (choice.kind != kSkipped) {
        bounds.push_back(choice.from);
        candidate.kind_of_stage.push_back(choice.kind);
      }
      ideal = choice.from;
      state = choice.state;
    }
    std::ranges::reverse(bounds);
    std::ranges::reverse(candidate.kind_of_stage);
    candidate.stage_of.assign(instance_.size(), 0);
    for (std::uint32_t stage = 0; stage + 1 < bounds.size(); ++stage) {
      assign(bounds[stage], bounds[stage + 1], stage, candidate);
    }
    return candidate;
  }

  // The groups between two ideals, by a walk from one to the other.
  void assign(std::uint32_t from, std::uint32_t to, std::uint32_t stage, Candidate& candidate) {
    std::ranges::fill(seen_from_, kNoItem);
    std::vector<Open> walk = {{from, 0}};
    std::vector<std::uint32_t> groups;
    while (walk.back().ideal != to) {
      Open& open = walk.back();
      const auto next = ideals_.next(open.ideal);
      if (open.next == next.size()) {
        groups.pop_back();
        walk.pop_back();
        continue;
      }
      const Ideals::Next& step = next[open.next++];
      if (step.ideal > to || std::exchange(seen_from_[step.ideal], from) == from) continue;
      groups.push_back(step.group);
      walk.push_back({step.ideal, 0});
    }
    for (const std::uint32_t group : groups) candidate.stage_of[group] = stage;
  }

  const Instance& instance_;
  const Fleet& fleet_;
  const Ideals& ideals_;
  const ExactOptions& options_;
  std::size_t states_;
  std::vector<double> best_;  // by ideal and state
  std::vector<Choice> choice_;
  std::vector<std::uint32_t> seen_from_;  // by ideal
  std::vector<double> cost_;              // of the stage, by kind
  std::vector<double> rest_;              // by ideal
  std::vector<double> room_;              // by state
  std::vector<std::uint32_t> active_;
  std::vector<Open> walk_;
  GrowingStage stage_;
  StageMemory memory_;
  std::uint64_t stages_tried_ = 0;
  bool is_given_up_ = false;
};

}  // namespace

ExactResult exact_search(const Instance& instance, const ExactOptions& options) {
  const std::size_t states = instance.fleet->state_count();
  // A choice holds both in 16 bits, and one value of them says that a device was skipped.
  if (states > 0x7FFF || instance.fleet->kinds().size() > 0x7FFF) return {};
  const std::size_t most = std::min(options.most_ideals, kMostCells / states);
  const auto ideals = Ideals::enumerate(instance, most);
  if (!ideals) return {};
  return ExactSearch(instance, *ideals, options).run();
}

}  // namespace cleave::balance
