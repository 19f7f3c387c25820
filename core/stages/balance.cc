// The problem of balancing a pipeline, and the choice of a way to solve it.
#include "core/stages/balance.h"

#include <algorithm>
#include <cassert>
#include <compare>
#include <numeric>
#include <optional>
#include <utility>

#include "core/base/min_cut.h"
#include "core/base/words.h"
#include "core/stages/solvers.h"

namespace cleave {

// ---- problem ----
//
// Steps of evaluate_stages():
// 1. add the costs of items to their stages;
// 2. add the transfers of each net that crosses, once per stage;
// 3. add each stage's peak of live activations.

namespace {

// Computes the costs of one assignment's stages in one walk over the nets by producer and consumer.
class Evaluation {
 public:
  Evaluation(const BalanceProblem& problem, std::span<const std::uint32_t> stage_of,
             std::vector<BalanceStage>& stages)
      : problem_(problem), stage_of_(stage_of), stages_(stages), seen_(stages.size(), kNoItem) {}

  void add_items() {
    for (std::uint32_t item = 0; item < stage_of_.size(); ++item) {
      BalanceStage& stage = stages_[stage_of_[item]];
      const BalanceDevice& device = problem_.devices[stage.device];
      stage.items.push_back(item);
      stage.compute += device.is_host ? problem_.items[item].host_time
                                      : problem_.time_on(device.target, item) / device.speed;
      stage.parameter_bytes += problem_.items[item].bytes;
    }
    for (std::uint32_t i = 0; i < problem_.shared_users.count(); ++i) {
      for (const std::uint32_t user : problem_.shared_users.of(i)) {
        if (first_sight(stage_of_[user], i)) {
          stages_[stage_of_[user]].parameter_bytes += problem_.shared_bytes[i];
        }
      }
    }
    std::ranges::fill(seen_, kNoItem);
  }

  void add_transfers() {
    for (std::uint32_t net = 0; net < problem_.nets.size(); ++net) {
      const std::uint32_t producer = problem_.nets[net].producer;
      if (producer == kNoItem) continue;
      const std::uint32_t home = stage_of_[producer];
      bool leaves = false;
      for (const std::uint32_t reader : problem_.consumers.of(net)) {
        const std::uint32_t stage = stage_of_[reader];
        leaves = leaves || stage != home;
        if (stage != home && first_sight(stage, net)) stages_[stage].in += cost(net, stage);
      }
      if (leaves) stages_[home].out += cost(net, home);
    }
    std::ranges::fill(seen_, kNoItem);
  }

  // The peak of each stage: the values from outside, plus what the stage has made and still needs,
  // over its items in order.
  void add_activations() {
    std::vector<double> born(stage_of_.size(), 0);  // made by the item
    std::vector<double> dies(stage_of_.size(), 0);  // last used by the item
    for (std::uint32_t net = 0; net < problem_.nets.size(); ++net) {
      const double bytes = problem_.nets[net].bytes;
      const std::uint32_t producer = problem_.nets[net].producer;
      const std::uint32_t home = producer == kNoItem ? kNoItem : stage_of_[producer];
      bool leaves = problem_.nets[net].is_output;
      std::uint32_t last = producer == kNoItem ? 0 : producer;
      for (const std::uint32_t reader : problem_.consumers.of(net)) {
        const std::uint32_t stage = stage_of_[reader];
        leaves = leaves || stage != home;
        last = std::max(last, reader);
        if (stage != home && first_sight(stage, net)) stages_[stage].activation_bytes += bytes;
      }
      if (producer == kNoItem) continue;
      born[producer] += bytes;
      if (!leaves) dies[last] += bytes;
    }
    for (BalanceStage& stage : stages_) {
      double live = 0;
      double peak = 0;
      for (const std::uint32_t item : stage.items) {
        live += born[item];
        peak = std::max(peak, live);
        live -= dies[item];
      }
      stage.activation_bytes += peak;
    }
  }

 private:
  bool first_sight(std::uint32_t stage, std::uint32_t thing) {
    if (seen_[stage] == thing) return false;
    seen_[stage] = thing;
    return true;
  }
  double cost(std::uint32_t net, std::uint32_t stage) const {
    const BalanceDevice& device = problem_.devices[stages_[stage].device];
    return device.is_host ? 0 : problem_.nets[net].cost * device.transfer_scale;
  }

  const BalanceProblem& problem_;
  std::span<const std::uint32_t> stage_of_;
  std::vector<BalanceStage>& stages_;
  std::vector<std::uint32_t> seen_;  // by stage: the last thing counted there
};

}  // namespace

double stage_load(CommModel comm, double compute, double in, double out) {
  switch (comm) {
    case CommModel::serial:
      return compute + in + out;
    case CommModel::overlap:
      return std::max(compute, in + out);
    case CommModel::duplex:
      return std::max({compute, in, out});
    case CommModel::none:
      break;
  }
  return compute;
}

Adjacency successors_of_nets(const BalanceProblem& problem) {
  return adjacency_of(problem.items.size(), [&](const auto& take) {
    for (std::uint32_t net = 0; net < problem.nets.size(); ++net) {
      const std::uint32_t producer = problem.nets[net].producer;
      if (producer == kNoItem) continue;
      for (const std::uint32_t reader : problem.consumers.of(net)) {
        if (reader != producer) take(producer, reader);
      }
    }
  });
}

std::vector<BalanceStage> evaluate_stages(const BalanceProblem& problem, CommModel comm,
                                          std::span<const std::uint32_t> stage_of,
                                          std::span<const std::uint32_t> device_of) {
  assert(stage_of.size() == problem.items.size());
  std::vector<BalanceStage> stages(device_of.size());
  for (std::size_t i = 0; i < device_of.size(); ++i) stages[i].device = device_of[i];
  Evaluation evaluation(problem, stage_of, stages);
  evaluation.add_items();
  evaluation.add_transfers();
  evaluation.add_activations();
  for (BalanceStage& stage : stages) {
    stage.load = stage_load(comm, stage.compute, stage.in, stage.out);
  }
  return stages;
}

}  // namespace cleave

namespace cleave::balance {

// ---- instance ----

namespace {

// An upper bound on what any stage needs.
double bytes_of_everything(const BalanceProblem& problem) {
  double bytes = 0;
  for (const BalanceItem& item : problem.items) bytes += item.bytes;
  for (const double shared : problem.shared_bytes) bytes += shared;
  for (const BalanceNet& net : problem.nets) bytes += net.bytes;
  return bytes;
}

}  // namespace

Fleet::Fleet(const BalanceProblem& problem, bool exact_stages) : exact_stages_(exact_stages) {
  const double everything = bytes_of_everything(problem);
  for (std::uint32_t entry = 0; entry < problem.devices.size(); ++entry) {
    const BalanceDevice& device = problem.devices[entry];
    const DeviceKind kind{
        .time_scale = 1 / device.speed,
        .comm_scale = device.is_host ? 0 : device.transfer_scale,
        .memory = device.is_host || everything <= device.memory ? kUnlimited : device.memory,
        .is_host = device.is_host,
        .target = device.target};
    const auto found = std::ranges::find(kinds_, kind);
    const auto id = static_cast<std::uint32_t>(found - kinds_.begin());
    if (found == kinds_.end()) {
      kinds_.push_back(kind);
      count_of_kind_.push_back(0);
    }
    count_of_kind_[id] += device.count;
    kind_of_device_.insert(kind_of_device_.end(), device.count, id);
    entry_of_device_.insert(entry_of_device_.end(), device.count, entry);
    has_host_ = has_host_ || kind.is_host;
    has_caps_ = has_caps_ || kind.memory < kUnlimited;
  }
  in_order_ = problem.devices_in_order && kinds_.size() > 1;
  may_skip_ = in_order_ && !exact_stages;
  if (in_order_) make_states_in_order();
  if (!in_order_) make_states_in_any_order();
}

void Fleet::make_states_in_order() {
  for (std::uint32_t device = 0; device <= kind_of_device_.size(); ++device) {
    used_.push_back(device);
    if (device < kind_of_device_.size()) {
      steps_.push_back({.to = device + 1, .kind = kind_of_device_[device]});
    }
    steps_begin_.push_back(static_cast<std::uint32_t>(steps_.size()));
  }
}

// A state is a mixed-radix number: the digit of a kind is how many of its devices are taken.
void Fleet::make_states_in_any_order() {
  std::vector<std::uint32_t> digits(kinds_.size(), 0);
  std::size_t states = 1;
  for (const std::uint32_t count : count_of_kind_) states *= std::size_t{count} + 1;
  for (std::uint32_t state = 0; state < states; ++state) {
    std::uint32_t used = 0;
    std::uint32_t stride = 1;
    for (std::uint32_t kind = 0; kind < kinds_.size(); ++kind) {
      if (digits[kind] < count_of_kind_[kind]) steps_.push_back({state + stride, kind});
      used += digits[kind];
      stride *= count_of_kind_[kind] + 1;
    }
    used_.push_back(used);
    steps_begin_.push_back(static_cast<std::uint32_t>(steps_.size()));
    for (std::uint32_t kind = 0; kind < kinds_.size(); ++kind) {
      if (++digits[kind] <= count_of_kind_[kind]) break;
      digits[kind] = 0;
    }
  }
}

std::vector<std::uint32_t> Fleet::devices_of(std::span<const std::uint32_t> kind_of_stage) const {
  std::vector<std::uint32_t> devices;
  std::vector<std::uint8_t> taken(kind_of_device_.size(), 0);
  std::size_t next = 0;
  for (const std::uint32_t kind : kind_of_stage) {
    std::size_t device = in_order_ ? next : 0;
    while (taken[device] != 0 || kind_of_device_[device] != kind) {
      ++device;
      assert(device < kind_of_device_.size());
    }
    taken[device] = 1;
    next = device + 1;
    devices.push_back(entry_of_device_[device]);
  }
  return devices;
}

// Steps of make_instance():
// 1. number the groups topologically;
// 2. sum the costs of each group's items;
// 3. find edges between groups and the parameters that they share;
// 4. reduce nets to groups: drop those without a cost or inside one group, and merge equal ones.

namespace {

constexpr std::size_t kMostNetsToMerge = 100'000;  // above this, sorting costs more than it saves

// The edges between groups, without loops; an edge may be listed more than once.
Adjacency edges_between(const BalanceProblem& problem, const Adjacency& items_of,
                        const std::vector<std::uint32_t>& group_of) {
  Adjacency edges;
  edges.begin.reserve(items_of.count() + 1);
  edges.items.reserve(problem.successors.items.size());
  for (std::uint32_t group = 0; group < items_of.count(); ++group) {
    const std::size_t first = edges.items.size();
    for (const std::uint32_t item : items_of.of(group)) {
      for (const std::uint32_t next : problem.successors.of(item)) {
        if (group_of[next] != group) edges.add(group_of[next]);
      }
    }
    const auto begin = edges.items.begin() + static_cast<std::ptrdiff_t>(first);
    std::sort(begin, edges.items.end());
    edges.items.erase(std::unique(begin, edges.items.end()), edges.items.end());
    edges.end_list();
  }
  return edges;
}

// Renumbers the groups so that edges go upwards; the first item decides among equals.
std::vector<std::uint32_t> topological_numbers(const BalanceProblem& problem,
                                               const std::vector<std::uint32_t>& group_of,
                                               std::size_t group_count) {
  std::vector<std::uint32_t> number(group_count, kNoItem);
  std::uint32_t next = 0;
  std::vector<std::uint32_t> by_first_item(group_of.size());
  for (std::size_t item = 0; item < group_of.size(); ++item) {
    if (number[group_of[item]] == kNoItem) number[group_of[item]] = next++;
    by_first_item[item] = number[group_of[item]];
  }
  const Adjacency items_of = members_of(by_first_item, group_count);
  const Adjacency edges = edges_between(problem, items_of, by_first_item);
  bool ascending = true;
  for (std::uint32_t group = 0; group < edges.count() && ascending; ++group) {
    ascending = edges.of(group).empty() || edges.of(group).front() > group;
  }
  if (ascending) return by_first_item;
  const std::vector<std::uint32_t> order = topological_order(reversed(edges)).order;
  std::vector<std::uint32_t> position(group_count, 0);
  for (std::uint32_t i = 0; i < order.size(); ++i) position[order[i]] = i;
  for (std::uint32_t& group : by_first_item) group = position[group];
  return by_first_item;
}

// A group that no one target takes as a whole is for the host only.
void sum_on_targets(Instance& instance) {
  const BalanceProblem& problem = *instance.problem;
  const std::size_t targets = problem.target_count();
  instance.targets = targets;
  instance.target_time.assign(instance.size() * targets, 0);
  for (std::uint32_t item = 0; item < instance.group_of.size(); ++item) {
    for (std::uint32_t target = 0; target < targets; ++target) {
      double& sum = instance.target_time[instance.group_of[item] * targets + target];
      const double time = problem.time_on(target, item);
      sum = sum < 0 || time < 0 ? -1 : sum + time;
    }
  }
  for (std::uint32_t group = 0; group < instance.size(); ++group) {
    double least = kUnlimited;
    for (std::uint32_t target = 0; target < targets; ++target) {
      const double time = instance.target_time[group * targets + target];
      if (time >= 0) least = std::min(least, time);
    }
    instance.host_only[group] = least == kUnlimited ? 1 : 0;
    instance.time[group] = least == kUnlimited ? 0 : least;
  }
}

void sum_items(Instance& instance) {
  const std::size_t count = instance.items_of.count();
  instance.time.assign(count, 0);
  instance.host_time.assign(count, 0);
  instance.bytes.assign(count, 0);
  instance.host_only.assign(count, 0);
  for (std::size_t i = 0; i < instance.group_of.size(); ++i) {
    const BalanceItem& item = instance.problem->items[i];
    const std::uint32_t group = instance.group_of[i];
    instance.time[group] += item.time;
    instance.host_time[group] += item.host_time;
    instance.bytes[group] += item.bytes;
    if (!item.runs_on_accelerator) instance.host_only[group] = 1;
  }
  if (!instance.problem->target_times.empty()) sum_on_targets(instance);
}

Adjacency shared_of_groups(const Instance& instance) {
  const Adjacency& users = instance.problem->shared_users;
  Adjacency groups_of;  // by shared parameter
  for (std::uint32_t shared = 0; shared < users.count(); ++shared) {
    std::vector<std::uint32_t> groups;
    for (const std::uint32_t item : users.of(shared)) groups.push_back(instance.group_of[item]);
    sort_unique(groups);
    for (const std::uint32_t group : groups) groups_of.add(group);
    groups_of.end_list();
  }
  return reversed(groups_of, instance.size());
}

// Keeps the nets that have a cost and touch two groups or more.
void collapse_nets(Instance& instance) {
  const BalanceProblem& problem = *instance.problem;
  std::vector<std::uint32_t> groups;
  for (std::uint32_t net = 0; net < problem.nets.size(); ++net) {
    const std::uint32_t producer = problem.nets[net].producer;
    if (producer == kNoItem || problem.nets[net].cost <= 0) continue;
    const std::uint32_t home = instance.group_of[producer];
    groups.assign(1, home);
    for (const std::uint32_t item : problem.consumers.of(net)) {
      if (instance.group_of[item] != home) groups.push_back(instance.group_of[item]);
    }
    if (groups.size() == 1) continue;
    sort_unique(groups);
    for (const std::uint32_t group : groups) instance.pins.add(group);
    instance.pins.end_list();
    instance.net_cost.push_back(problem.nets[net].cost);
    instance.net_home.push_back(home);
  }
}

// Merges nets over the same groups. The producer matters to the duplex model only.
void merge_equal_nets(Instance& instance) {
  std::vector<std::uint32_t> order(instance.net_count());
  std::iota(order.begin(), order.end(), 0U);
  const bool by_home = instance.comm == CommModel::duplex;
  const auto before = [&](std::uint32_t a, std::uint32_t b) {
    const auto x = instance.pins.of(a);
    const auto y = instance.pins.of(b);
    const auto order_of =
        std::lexicographical_compare_three_way(x.begin(), x.end(), y.begin(), y.end());
    if (order_of != 0) return order_of < 0;
    if (by_home && instance.net_home[a] != instance.net_home[b]) {
      return instance.net_home[a] < instance.net_home[b];
    }
    return a < b;
  };
  std::ranges::sort(order, before);
  const Adjacency old_pins = std::exchange(instance.pins, {});
  const std::vector<double> old_cost = std::exchange(instance.net_cost, {});
  const std::vector<std::uint32_t> old_home = std::exchange(instance.net_home, {});
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto pins = old_pins.of(order[i]);
    if (i > 0) {
      const auto last = old_pins.of(order[i - 1]);
      const bool same = std::equal(pins.begin(), pins.end(), last.begin(), last.end()) &&
                        (!by_home || old_home[order[i]] == old_home[order[i - 1]]);
      if (same) {
        instance.net_cost.back() += old_cost[order[i]];
        continue;
      }
    }
    for (const std::uint32_t group : pins) instance.pins.add(group);
    instance.pins.end_list();
    instance.net_cost.push_back(old_cost[order[i]]);
    instance.net_home.push_back(old_home[order[i]]);
  }
}

bool any_activations(const BalanceProblem& problem) {
  return std::ranges::any_of(problem.nets, [](const BalanceNet& net) { return net.bytes > 0; });
}

}  // namespace

Instance make_instance(const BalanceProblem& problem, const Fleet& fleet, CommModel comm,
                       const std::vector<std::uint32_t>& group_of, std::size_t group_count) {
  Instance instance;
  instance.problem = &problem;
  instance.fleet = &fleet;
  instance.comm = comm;
  instance.group_of = topological_numbers(problem, group_of, group_count);
  instance.items_of = members_of(instance.group_of, group_count);
  sum_items(instance);
  instance.successors = edges_between(problem, instance.items_of, instance.group_of);
  instance.predecessors = reversed(instance.successors, group_count);
  instance.shared = shared_of_groups(instance);
  if (comm != CommModel::none) {
    collapse_nets(instance);
    if (instance.net_count() <= kMostNetsToMerge) merge_equal_nets(instance);
  }
  instance.nets_of = reversed(instance.pins, group_count);
  instance.has_activations = fleet.has_caps() && any_activations(problem);
  return instance;
}

std::vector<std::uint32_t> earliest_devices(const Instance& instance) {
  const auto devices = instance.fleet->kind_of_device();
  std::vector<std::uint32_t> earliest(instance.size(), 0);
  for (std::uint32_t group = 0; group < instance.size(); ++group) {
    std::uint32_t device = earliest[group];
    const auto takes = [&](std::uint32_t at) {
      return instance.takes(instance.fleet->kinds()[devices[at]], group);
    };
    while (device < devices.size() && !takes(device)) ++device;
    earliest[group] = device < devices.size() ? device : kNoItem;
    for (const std::uint32_t later : instance.successors.of(group)) {
      earliest[later] = std::max(earliest[later], earliest[group]);
    }
  }
  return earliest;
}

std::vector<std::uint32_t> latest_devices(const Instance& instance) {
  const auto devices = instance.fleet->kind_of_device();
  std::vector<std::uint32_t> latest(instance.size(),
                                    static_cast<std::uint32_t>(devices.size() - 1));
  for (auto group = static_cast<std::uint32_t>(instance.size()); group-- > 0;) {
    for (const std::uint32_t later : instance.successors.of(group)) {
      latest[group] = std::min(latest[group], latest[later]);
    }
    const auto takes = [&](std::uint32_t at) {
      return instance.takes(instance.fleet->kinds()[devices[at]], group);
    };
    while (latest[group] > 0 && !takes(latest[group])) --latest[group];
  }
  return latest;
}

Checked check(const Instance& instance, const Candidate& candidate) {
  // Keep only stages that hold a group, in order.
  std::vector<std::uint32_t> number(candidate.kind_of_stage.size(), 0);
  for (const std::uint32_t stage : candidate.stage_of) number[stage] = 1;
  std::vector<std::uint32_t> kinds;
  for (std::size_t stage = 0; stage < number.size(); ++stage) {
    if (number[stage] == 0) continue;
    number[stage] = static_cast<std::uint32_t>(kinds.size());
    kinds.push_back(candidate.kind_of_stage[stage]);
  }
  Checked result;
  result.stage_of.reserve(instance.group_of.size());
  for (const std::uint32_t group : instance.group_of) {
    result.stage_of.push_back(number[candidate.stage_of[group]]);
  }
  result.stages = evaluate_stages(*instance.problem, instance.comm, result.stage_of,
                                  instance.fleet->devices_of(kinds));
  double objective = 0;
  for (std::size_t stage = 0; stage < kinds.size(); ++stage) {
    const BalanceStage& s = result.stages[stage];
    objective = std::max(objective, s.load);
    const double bytes = s.parameter_bytes + s.activation_bytes;
    result.excess_bytes =
        std::max(result.excess_bytes, bytes - instance.fleet->kinds()[kinds[stage]].memory);
  }
  if (result.excess_bytes <= 0) result.objective = objective;
  return result;
}

// Groups that must or may stay together: colours with their cycles, and contraction. The public
// functions are declared in solvers.h.

namespace {

bool has_colours(const BalanceProblem& problem) {
  return std::ranges::any_of(problem.items,
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
  // Several groups may join one target in a round: none changes the others' condition. Each group merges
  // at most once a round.
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
    const auto kinds = instance_.fleet->kinds();
    const auto keeps = [&](const DeviceKind& kind) {
      return instance_.takes(kind, u) || !instance_.takes(kind, v);
    };
    if (!std::ranges::all_of(kinds, keeps)) return false;
    double both = 0;   // of nets between the two alone
    double other = 0;  // of u's nets without v
    for (const std::uint32_t net : instance_.nets_of.of(u)) {
      const auto pins = instance_.pins.of(net);
      const bool has_v = std::ranges::binary_search(pins, v);
      if (!has_v) other += instance_.net_cost[net];
      if (has_v && pins.size() == 2) both += instance_.net_cost[net];
    }
    return std::ranges::all_of(
        kinds, [&](const DeviceKind& kind) { return never_slower(kind, u, other, both); });
  }

  bool takes_memory(std::uint32_t u) const {
    return instance_.has_activations || instance_.bytes[u] > 0 || !instance_.shared.of(u).empty();
  }

  // Whether a stage on this kind of device gets no slower by taking u in.
  bool never_slower(const DeviceKind& kind, std::uint32_t u, double other, double both) const {
    if (kind.is_host) return instance_.host_time[u] <= 0;
    const double time = instance_.time_on(kind, u) * kind.time_scale;
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
  std::ranges::sort(by_colour);
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

namespace cleave {

// ---- solver ----
//
// Steps of one search:
// 1. join items that must be in one stage, and number the groups;
// 2. refuse what cannot fit at all (find_obstacle);
// 3. contract groups, unless the graph is large;
// 4. run the portfolio of searches;
// 5. expand its answer, or say why there is none.
// With a target, the search is repeated with fewer and fewer devices.

namespace {

using balance::Deadline;
using balance::Fleet;
using balance::Instance;
using balance::PortfolioAnswer;

// Contraction compares groups with all their neighbours, again after each that joined. Above, the searches are
// coarser than what it could gain.
constexpr std::size_t kMostToContract = 50'000;
constexpr std::size_t kMostStates = 2048;  // of a fleet: the tables grow with them
// Points of the curve of the best load by number of stages; more than a report can show.
constexpr std::uint32_t kMostOfCurve = 4096;
// Times the objective: a thousandth less is not worth another device.
constexpr double kAsGood = 1.001;

std::uint32_t enough_of(const std::vector<CurvePoint>& curve, double objective) {
  for (const CurvePoint& point : curve) {
    if (point.objective <= objective * kAsGood) return point.stages;
  }
  return curve.empty() ? 0 : curve.back().stages;
}

BalanceResult result_of(PortfolioAnswer answer, const Deadline& deadline) {
  BalanceResult result;
  result.objective = answer.best.objective;
  result.stages = std::move(answer.best.stages);
  result.stage_of = std::move(answer.best.stage_of);
  result.bound = std::min(answer.bound.objective, result.objective);
  result.certificate = std::move(answer.bound.certificate);
  // A bound is rounded down by 1e-9, so a nearer one counts as equal.
  // Four times the 1e-9: the objective, too, is a sum of rounded numbers.
  if (result.bound >= result.objective * (1 - 4e-9)) result.bound = result.objective;
  result.gap = result.bound > 0 ? result.objective / result.bound - 1 : 0;
  for (std::size_t i = 0; i < answer.curve.size(); ++i) {
    result.curve.push_back({static_cast<std::uint32_t>(i + 1), answer.curve[i]});
  }
  result.enough_stages = enough_of(result.curve, result.objective);
  result.moves = answer.moves;
  result.time_limit_hit = deadline.has_passed();
  if (result.time_limit_hit) {
    result.notes.emplace_back("the time limit stopped the search: the result may not repeat");
  }
  return result;
}

Result<BalanceResult> balance_all(const BalanceProblem& problem, const BalanceOptions& options,
                                  const Deadline& deadline) {
  const Fleet fleet(problem, options.exact_stages);
  const Components tied = balance::tied_items(problem);
  Instance instance = make_instance(problem, fleet, options.comm, tied.of, tied.count);
  if (auto obstacle = find_obstacle(instance)) return std::move(*obstacle);
  if (instance.size() <= kMostToContract) instance = contracted(std::move(instance));
  PortfolioAnswer answer = balance::Portfolio(instance, options, deadline).run();
  if (answer.best.stages.empty()) {
    return no_room(instance, answer.is_proved_impossible, answer.least_excess_bytes);
  }
  return result_of(std::move(answer), deadline);
}

std::uint32_t device_count(const BalanceProblem& problem) {
  std::uint32_t count = 0;
  for (const BalanceDevice& device : problem.devices) count += device.count;
  return count;
}

// The problem with its first `count` devices only.
BalanceProblem with_devices(BalanceProblem problem, std::uint32_t count) {
  for (BalanceDevice& device : problem.devices) {
    device.count = std::min(device.count, count);
    count -= device.count;
  }
  std::erase_if(problem.devices, [](const BalanceDevice& device) { return device.count == 0; });
  return problem;
}

// Goes down from the curve's answer, one device at a time, as long as the target is met.
Result<BalanceResult> fewest_stages(const BalanceProblem& problem, const BalanceOptions& options,
                                    const Deadline& deadline) {
  Result<BalanceResult> best = balance_all(problem, options, deadline);
  if (!best) return best;
  if (best->objective > options.target) {
    const bool is_proved = best->bound > options.target;
    Error error{"no assignment to " + std::to_string(device_count(problem)) + " devices " +
                (is_proved ? "takes " : "was found that takes ") +
                balance::time_text(problem, options.target) + " or less"};
    error.notes.push_back("the best found takes " + balance::time_text(problem, best->objective) +
                          ", no assignment less than " + balance::time_text(problem, best->bound));
    return error;
  }
  std::uint32_t count = device_count(problem);
  for (const CurvePoint& point : best->curve) {
    if (point.objective <= options.target) count = std::min(count, point.stages);
  }
  std::vector<CurvePoint> curve = best->curve;
  bool is_proved = false;
  for (std::uint32_t fewer = count; fewer > 0; --fewer) {
    Result<BalanceResult> next = balance_all(with_devices(problem, fewer), options, deadline);
    if (next && next->objective <= options.target) {
      best = std::move(next);
      count = fewer;
      continue;
    }
    is_proved = next && next->bound > options.target;
    if (fewer < count) break;
  }
  for (CurvePoint& point : curve) {
    if (point.stages >= count) point.objective = std::min(point.objective, best->objective);
  }
  best->curve = std::move(curve);
  best->notes.emplace_back(is_proved || count == 1
                               ? "proved: fewer stages cannot reach the target"
                               : "fewer stages were tried and did not reach the target");
  return best;
}

// Devices of a kind beyond the number of items change nothing.
BalanceProblem without_idle_devices(BalanceProblem problem) {
  const auto most = static_cast<std::uint32_t>(problem.items.size());
  for (BalanceDevice& device : problem.devices) device.count = std::min(device.count, most);
  return problem;
}

// The number of states that the devices make, see Fleet; an estimate from the list alone.
std::size_t count_states(const BalanceProblem& problem) {
  if (problem.devices_in_order) return std::size_t{device_count(problem)} + 1;
  std::size_t states = 1;
  for (const BalanceDevice& device : problem.devices) {
    states = std::min(states, kMostStates + 1) * (std::size_t{device.count} + 1);
  }
  return states;
}

Result<BalanceResult> balance_some(const BalanceProblem& problem, const BalanceOptions& options,
                                   const Deadline& deadline) {
  if (count_states(problem) > kMostStates) {
    return Error{"there are too many devices (" + std::to_string(device_count(problem)) +
                 "): stages can be balanced over about 2,000"};
  }
  if (options.target < kUnlimited) return fewest_stages(problem, options, deadline);
  return balance_all(problem, options, deadline);
}

}  // namespace

Result<BalanceResult> balance_stages(const BalanceProblem& problem, const BalanceOptions& options) {
  const Deadline deadline(options.time_limit_seconds);
  const std::uint32_t devices = device_count(problem);
  if (devices == 0) return Error{"there is no device to run on"};
  if (problem.items.empty()) return BalanceResult{};
  if (options.exact_stages && devices > problem.items.size()) {
    return balance::too_few_to_stand_apart(devices, problem.items.size());
  }
  const bool has_idle = !problem.devices_in_order && devices > problem.items.size();
  Result<BalanceResult> result =
      has_idle ? balance_some(without_idle_devices(problem), options, deadline)
               : balance_some(problem, options, deadline);
  if (!result || result->curve.empty()) return result;
  while (result->curve.size() < std::min(devices, kMostOfCurve)) {
    result->curve.push_back(result->curve.back());
    ++result->curve.back().stages;
  }
  return result;
}

}  // namespace cleave
