// Steps of heavy_chains():
// 1. find the longest path by time, by cost of nets, and by number of groups;
// 2. thin out long paths, and drop equal ones;
// 3. for each chain, find what every run of its links forces into a stage, and the nets at its
//    links.
#include "core/balance/chain.h"

#include <algorithm>
#include <utility>

namespace cleave::balance {
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

}  // namespace cleave::balance
