#include "core/split/keep_best.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/cost/cost.h"
#include "core/split/boundary.h"
#include "core/split/partition.h"

namespace cleave {
namespace {

struct Worth {
  double gain = 0;
  std::uint64_t link_bytes = 0;
  double flops = 0;
};

class Appraiser {
 public:
  Appraiser(const Graph& graph, const Subgraphs& subgraphs, const KeepOptions& options,
            const Link& link)
      : graph_(graph),
        options_(options),
        link_(link),
        partition_(make_partition(subgraphs, {})),
        boundaries_(find_boundaries(graph, partition_)),
        costs_(node_costs(graph)) {}

  Worth worth_of(PartId part) const {
    Worth worth;
    for (const auto* const side : {&boundaries_.inputs, &boundaries_.outputs}) {
      for (const ValueId value : (*side)[part]) {
        worth.link_bytes += value_bytes(graph_, value).value_or(0);
      }
    }
    double seconds = 0;
    for (const NodeId node : partition_.nodes(part)) {
      worth.flops += costs_[node].flops.value_or(0);
      seconds += seconds_of(node);
    }
    const double link_seconds = static_cast<double>(worth.link_bytes) / link_.bytes_per_second;
    switch (options_.by) {
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

 private:
  // On the CPU.
  double seconds_of(NodeId node) const {
    const MeasuredCost* const measured = graph_.measured_cost(node);
    if (measured != nullptr && measured->time_us >= 0) return measured->time_us / 1e6;
    return std::max(costs_[node].flops.value_or(0) / options_.host_flops,
                    costs_[node].bytes.value_or(0) / options_.host_bandwidth);
  }

  const Graph& graph_;
  const KeepOptions& options_;
  const Link& link_;
  Partition partition_;
  Boundaries boundaries_;
  PerNode<NodeCost> costs_;
};

// Accelerator subgraphs, the most valuable first.
std::vector<std::size_t> ranked(const Subgraphs& subgraphs, const std::vector<Worth>& worth) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < subgraphs.count(); ++i) {
    if (subgraphs.devices[i] == Device::acc) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    if (worth[a].gain != worth[b].gain) return worth[a].gain > worth[b].gain;
    return worth[a].link_bytes < worth[b].link_bytes;
  });
  return order;
}

// The same with CPU after CPU as one.
Subgraphs with_neighbours_merged(const Subgraphs& subgraphs) {
  Subgraphs merged;
  std::vector<PartId> new_id;
  for (std::size_t i = 0; i < subgraphs.count(); ++i) {
    const Device device = subgraphs.devices[i];
    const bool joins =
        device == Device::cpu && !merged.devices.empty() && merged.devices.back() == Device::cpu;
    if (!joins) {
      merged.devices.push_back(device);
      merged.sizes.push_back(0);
    }
    merged.sizes.back() += subgraphs.sizes[i];
    new_id.push_back(id_at<PartId>(merged.count() - 1));
  }
  merged.subgraph_of = subgraphs.subgraph_of;
  for (std::size_t n = 0; n < merged.subgraph_of.size(); ++n) {
    PartId& subgraph = merged.subgraph_of[id_at<NodeId>(n)];
    subgraph = new_id[index(subgraph)];
  }
  return merged;
}

}  // namespace

KeptSubgraphs keep_best_subgraphs(const Graph& graph, MergedSubgraphs found,
                                  const KeepOptions& options, const Link& link) {
  auto& [subgraphs, reasons] = found;
  const auto acc = static_cast<std::size_t>(
      std::count(subgraphs.devices.begin(), subgraphs.devices.end(), Device::acc));
  if (acc <= options.most) return {std::move(subgraphs), std::move(reasons), {}};

  const Appraiser appraiser(graph, subgraphs, options, link);
  std::vector<Worth> worth(subgraphs.count());
  for (std::size_t i = 0; i < worth.size(); ++i) worth[i] = appraiser.worth_of(id_at<PartId>(i));
  const std::vector<std::size_t> order = ranked(subgraphs, worth);

  CapCost cost{.kept = options.most, .subgraphs = acc - options.most};
  std::vector<bool> is_over(subgraphs.count(), false);
  for (std::size_t i = options.most; i < order.size(); ++i) {
    const std::size_t subgraph = order[i];
    is_over[subgraph] = true;
    subgraphs.devices[subgraph] = Device::cpu;
    cost.nodes += subgraphs.sizes[subgraph];
    cost.flops += worth[subgraph].flops;
    cost.link_bytes += worth[subgraph].link_bytes;
  }
  for (const NodeId node : graph.nodes()) {
    if (is_over[index(subgraphs.subgraph_of[node])]) reasons[node] = {.code = ReasonCode::over_cap};
  }
  return {with_neighbours_merged(subgraphs), std::move(reasons), cost};
}

}  // namespace cleave
