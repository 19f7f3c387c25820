// Steps of make_instance():
// 1. number the groups topologically;
// 2. sum the costs of each group's items;
// 3. find edges between groups and the parameters that they share;
// 4. reduce nets to groups: drop those without a cost or inside one group, and merge equal ones.
#include "core/balance/instance.h"

#include <algorithm>
#include <compare>
#include <numeric>
#include <utility>

#include "core/base/topological_order.h"

namespace cleave::balance {
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
}

Adjacency shared_of_groups(const Instance& instance) {
  const Adjacency& users = instance.problem->shared_users;
  Adjacency groups_of;  // by shared parameter
  for (std::uint32_t shared = 0; shared < users.count(); ++shared) {
    std::vector<std::uint32_t> groups;
    for (const std::uint32_t item : users.of(shared)) groups.push_back(instance.group_of[item]);
    std::sort(groups.begin(), groups.end());
    groups.erase(std::unique(groups.begin(), groups.end()), groups.end());
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
    std::sort(groups.begin(), groups.end());
    groups.erase(std::unique(groups.begin(), groups.end()), groups.end());
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
  std::sort(order.begin(), order.end(), before);
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
  return std::any_of(problem.nets.begin(), problem.nets.end(),
                     [](const BalanceNet& net) { return net.bytes > 0; });
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

}  // namespace cleave::balance
