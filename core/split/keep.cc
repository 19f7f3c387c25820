// Passes over partitions: which accelerator subgraphs to keep, and the minimum size that is fastest.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/cost/cost.h"
#include "core/graph/graph.h"
#include "core/split/split.h"

namespace cleave {

// ---- keep best ----
//
// Steps:
// 1. with only_gaining: drop the subgraphs without which an inference is faster, and repeat;
// 2. if more than `most` are left: rank them by value and drop the last;
// 3. after each drop, merge CPU subgraphs that have become neighbours.

namespace {

struct Worth {
  double gain = 0;
  std::uint64_t link_bytes = 0;
  double flops = 0;
  // costs_more, with what the part adds to an inference; only when latencies are known
  Reason reason;
};

class Appraiser {
 public:
  Appraiser(const Graph& graph, const Subgraphs& subgraphs, const SplitOptions& options,
            const KeepBasis& basis)
      : graph_(graph),
        options_(options),
        basis_(basis),
        partition_(with_all(subgraphs)),
        boundaries_(find_boundaries(graph, partition_)),
        state_(graph, partition_),
        costs_(node_costs(graph)) {
    if (basis.latency == nullptr) return;
    crossing_ = part_link_bytes(graph, partition_, boundaries_, *basis.latency);
  }

  Worth worth_of(PartId part) const {
    Worth worth;
    for (const ValueId value : boundaries_.inputs[part]) {
      if (!state_.is_there(part, value)) worth.link_bytes += value_bytes(graph_, value).value_or(0);
    }
    for (const ValueId value : boundaries_.outputs[part]) {
      if (!state_.stays(value)) worth.link_bytes += value_bytes(graph_, value).value_or(0);
    }
    double seconds = 0;
    for (const NodeId node : partition_.nodes(part)) {
      worth.flops += costs_[node].flops.value_or(0);
      seconds += seconds_of(node);
    }
    const double link_seconds =
        basis_.link.is_none ? 0
                            : static_cast<double>(worth.link_bytes) / basis_.link.bytes_per_second;
    if (basis_.latency != nullptr) worth.reason = latency_reason(part);
    switch (options_.keep_by) {
      case KeepBy::latency:
        worth.gain = gain_us(worth.reason);
        break;
      case KeepBy::time:
        worth.gain = seconds - link_seconds;
        break;
      case KeepBy::flops:
        worth.gain = worth.flops - link_seconds * options_.host_flops;
        break;
      case KeepBy::nodes:
        worth.gain = static_cast<double>(partition_.nodes(part).size());
    }
    return worth;
  }

  static double gain_us(const Reason& reason) {
    const float compute_us = std::isinf(reason.compute_us) ? 0 : reason.compute_us;
    return -(static_cast<double>(reason.link_us) + static_cast<double>(compute_us) +
             static_cast<double>(reason.launch_us));
  }

  // The time of the whole split; an unknown time counts as 0.
  double total_us() const {
    const LatencyInput& input = *basis_.latency;
    double total = 0;
    for (const PartId part : partition_.parts()) {
      total += link_us(crossing_[part], input.machine);
      const auto nodes = partition_.nodes(part);
      const bool is_acc = partition_.is_acc(part) && !nodes.empty();
      const DeviceTimes& times = is_acc ? input.times.acc : input.times.cpu;
      for (const NodeId node : nodes) total += times.us[node];
      if (is_acc) total += input.machine.launch_us.value_or(0);
    }
    return total;
  }

 private:
  // A part for each subgraph, also for those that moves left empty, so that both have the same number.
  static Partition with_all(const Subgraphs& subgraphs) {
    return make_partition(subgraphs.subgraph_of, std::vector<std::string>(subgraphs.count()),
                          subgraphs.devices, subgraphs.targets);
  }

  // What the part adds to an inference by running on the accelerator.
  Reason latency_reason(PartId part) const {
    const auto& [times, machine, residency, later, links] = *basis_.latency;
    double compute_us = 0;
    for (const NodeId node : partition_.nodes(part)) {
      const auto on_cpu = times.cpu.of(node);
      const auto on_acc = times.acc.of(node);
      compute_us += on_cpu && on_acc ? *on_acc - *on_cpu : std::numeric_limits<double>::infinity();
    }
    return {.code = ReasonCode::costs_more,
            .link_us = static_cast<float>(link_us(crossing_[part], machine)),
            .compute_us = static_cast<float>(compute_us),
            .launch_us = static_cast<float>(machine.launch_us.value_or(0))};
  }

  // The node's time on the CPU.
  double seconds_of(NodeId node) const {
    const MeasuredCost* const measured = graph_.measured_cost(node);
    if (measured != nullptr && measured->time_us >= 0) return measured->time_us / 1e6;
    return std::max(costs_[node].flops.value_or(0) / options_.host_flops,
                    costs_[node].bytes.value_or(0) / options_.host_bandwidth);
  }

  const Graph& graph_;
  const SplitOptions& options_;
  const KeepBasis& basis_;
  Partition partition_;
  Boundaries boundaries_;
  const StateOnDevices state_;
  PerNode<NodeCost> costs_;
  PerPart<LinkBytes> crossing_;  // when latencies are known
};

// Whether --keep-acc-subgraphs counts it: moves may have left it empty.
bool counts_as_acc(const Subgraphs& subgraphs, std::size_t subgraph) {
  return subgraphs.devices[subgraph] == Device::acc && subgraphs.sizes[subgraph] > 0;
}

// Accelerator subgraphs, the most valuable first.
std::vector<std::size_t> ranked(const Subgraphs& subgraphs, const std::vector<Worth>& worth) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < subgraphs.count(); ++i) {
    if (counts_as_acc(subgraphs, i)) order.push_back(i);
  }
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
    if (worth[a].gain != worth[b].gain) return worth[a].gain > worth[b].gain;
    return worth[a].link_bytes < worth[b].link_bytes;
  });
  return order;
}

std::size_t acc_count(const Subgraphs& subgraphs) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < subgraphs.count(); ++i) {
    if (counts_as_acc(subgraphs, i)) ++count;
  }
  return count;
}

// Puts subgraphs on the CPU and counts them.
class Dropper {
 public:
  Dropper(const Graph& graph, MergedSubgraphs& found) : graph_(graph), found_(found) {}

  void drop(const std::vector<std::size_t>& dropped, const std::vector<Worth>& worth,
            ReasonCode code) {
    std::vector<bool> is_dropped(found_.subgraphs.count(), false);
    for (const std::size_t subgraph : dropped) {
      is_dropped[subgraph] = true;
      found_.subgraphs.devices[subgraph] = Device::cpu;
      ++cost_.subgraphs;
      cost_.nodes += found_.subgraphs.sizes[subgraph];
      cost_.flops += worth[subgraph].flops;
      cost_.link_bytes += worth[subgraph].link_bytes;
    }
    for (const NodeId node : graph_.nodes()) {
      const std::uint32_t subgraph = index(found_.subgraphs.subgraph_of[node]);
      if (!is_dropped[subgraph]) continue;
      found_.reasons[node] =
          code == ReasonCode::costs_more ? worth[subgraph].reason : Reason{.code = code};
    }
    found_.subgraphs = with_cpu_neighbours_merged(found_.subgraphs);
  }

  CapCost cost() const {
    CapCost cost = cost_;
    if (cost.subgraphs > 0) cost.kept = acc_count(found_.subgraphs);
    return cost;
  }

 private:
  const Graph& graph_;
  MergedSubgraphs& found_;
  CapCost cost_;
};

std::vector<Worth> worth_of_all(const Appraiser& appraiser, const Subgraphs& subgraphs) {
  std::vector<Worth> worth(subgraphs.count());
  for (std::size_t i = 0; i < worth.size(); ++i) worth[i] = appraiser.worth_of(id_at<PartId>(i));
  return worth;
}

// The subgraphs that an inference is faster without: all that lose by themselves; if some of these
// need each other, the worst one; empty when dropping makes no inference faster.
std::vector<std::size_t> losing_subgraphs(const Graph& graph, const Subgraphs& subgraphs,
                                          const KeepBasis& basis) {
  SplitOptions by_latency;
  by_latency.keep_by = KeepBy::latency;
  const Appraiser appraiser(graph, subgraphs, by_latency, basis);
  const std::vector<Worth> worth = worth_of_all(appraiser, subgraphs);
  std::vector<std::size_t> losing = ranked(subgraphs, worth);
  losing.erase(losing.begin(), std::ranges::find_if(losing, [&](std::size_t subgraph) {
                 return worth[subgraph].gain < 0;
               }));
  const auto is_faster_without = [&](const std::vector<std::size_t>& dropped) {
    Subgraphs rest = subgraphs;
    for (const std::size_t subgraph : dropped) rest.devices[subgraph] = Device::cpu;
    const Appraiser without(graph, with_cpu_neighbours_merged(rest), by_latency, basis);
    return without.total_us() < appraiser.total_us();
  };
  if (losing.empty() || is_faster_without(losing)) return losing;
  losing.erase(losing.begin(), losing.end() - 1);
  return is_faster_without(losing) ? losing : std::vector<std::size_t>();
}

}  // namespace

KeptSubgraphs keep_best_subgraphs(const Graph& graph, MergedSubgraphs found,
                                  const SplitOptions& options, const KeepBasis& basis) {
  Dropper dropper(graph, found);
  while (options.keep_only_gaining) {
    const std::vector<std::size_t> losing = losing_subgraphs(graph, found.subgraphs, basis);
    if (losing.empty()) break;
    const Appraiser appraiser(graph, found.subgraphs, options, basis);
    dropper.drop(losing, worth_of_all(appraiser, found.subgraphs), ReasonCode::costs_more);
  }
  if (acc_count(found.subgraphs) > options.most_kept) {
    const Appraiser appraiser(graph, found.subgraphs, options, basis);
    const std::vector<Worth> worth = worth_of_all(appraiser, found.subgraphs);
    std::vector<std::size_t> over = ranked(found.subgraphs, worth);
    over.erase(over.begin(), over.begin() + static_cast<std::ptrdiff_t>(options.most_kept));
    dropper.drop(over, worth, ReasonCode::over_cap);
  }
  const CapCost cost = dropper.cost();
  return {std::move(found.subgraphs), std::move(found.reasons), cost};
}

std::size_t fastest_min_size(const Graph& graph, const Subgraphs& subgraphs,
                             const LatencyInput& input) {
  std::vector<std::size_t> sizes = {1};
  for (std::size_t i = 0; i < subgraphs.count(); ++i) {
    // A minimum that is one above a subgraph's size is the least that drops it.
    if (subgraphs.devices[i] == Device::acc) sizes.push_back(subgraphs.sizes[i] + 1);
  }
  sort_unique(sizes);
  const std::size_t step = sizes.size() / 64 + 1;
  std::size_t best = 1;
  std::optional<double> best_us;
  for (std::size_t i = 0; i < sizes.size(); i += step) {
    const PerNode<Reason> no_reasons(graph.node_count());
    const MergedSubgraphs merged =
        merge_small_subgraphs(graph, subgraphs, no_reasons, {.min_acc_size = sizes[i]});
    const double us = Appraiser(graph, merged.subgraphs, {}, {default_link(), &input}).total_us();
    if (best_us && us >= *best_us) continue;
    best_us = us;
    best = sizes[i];
  }
  return best;
}

}  // namespace cleave
