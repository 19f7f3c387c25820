// The main job, as one page. Facts flow one way: each step reads what the steps above it found and
// adds its own; nothing is written back.
//
//   what the list accepts > what may go there > what must stay together > runs > parts > boundaries
#include "core/split.h"

#include "core/cost.h"

#include <algorithm>
#include <cassert>
#include <string>
#include <utility>

namespace cleave {
namespace {

// Bytes of tensors that enter or leave accelerator subgraphs: what `--extend auto` brings down.
std::uint64_t link_bytes(const Graph& graph, const Subgraphs& subgraphs,
                         const PartitionOptions& options) {
  const Partition partition = make_partition(subgraphs, options);
  const Boundaries boundaries = find_boundaries(graph, partition);
  std::uint64_t total = 0;
  for (const PartId part : partition.parts()) {
    if (!partition.is_acc(part)) continue;
    for (const auto* lists : {&boundaries.inputs, &boundaries.outputs}) {
      for (const ValueId value : (*lists)[part]) total += value_bytes(graph, value).value_or(0);
    }
  }
  return total;
}

// Extends the subgraph when fewer bytes cross the link for it; returns the nodes that moved.
std::vector<NodeId> extend_if_fewer_bytes(const Graph& graph, const Fusions& fusions,
                                          Subgraphs& subgraphs, PartId target,
                                          const SplitOptions& options) {
  Subgraphs extended = subgraphs;
  std::vector<NodeId> gained = extend_subgraph(graph, fusions, extended, target);
  if (gained.empty() || link_bytes(graph, extended, options.partition) >=
                            link_bytes(graph, subgraphs, options.partition)) {
    return {};
  }
  subgraphs = std::move(extended);
  return gained;
}

Error no_such_subgraph(std::size_t number, const Subgraphs& subgraphs) {
  std::string have;
  for (std::size_t i = 0; i < subgraphs.count(); ++i) {
    if (subgraphs.devices[i] == Device::acc) have += (have.empty() ? "" : ", ") + std::to_string(i);
  }
  return {"there is no accelerator subgraph " + std::to_string(number) + " to extend",
          std::nullopt,
          {have.empty() ? "the split has no accelerator subgraph" : "there are: " + have}};
}

// Backwards over the accelerator subgraphs, so that what one gains the one before has lost already.
Result<std::vector<NodeId>> extend(const Graph& graph, const Fusions& fusions, Subgraphs& subgraphs,
                                   const SplitOptions& options) {
  std::vector<NodeId> moved;
  const auto which = options.extend.which;
  if (which == ExtendOptions::Which::none) return moved;
  if (which == ExtendOptions::Which::one) {
    const std::size_t number = options.extend.subgraph;
    if (number >= subgraphs.count() || subgraphs.devices[number] != Device::acc) {
      return no_such_subgraph(number, subgraphs);
    }
    return extend_subgraph(graph, fusions, subgraphs, id_at<PartId>(number));
  }
  for (std::size_t i = subgraphs.count(); i-- > 0;) {
    if (subgraphs.devices[i] != Device::acc || subgraphs.sizes[i] == 0) continue;
    const auto target = id_at<PartId>(i);
    const auto gained = which == ExtendOptions::Which::all
                            ? extend_subgraph(graph, fusions, subgraphs, target)
                            : extend_if_fewer_bytes(graph, fusions, subgraphs, target, options);
    moved.insert(moved.end(), gained.begin(), gained.end());
  }
  std::sort(moved.begin(), moved.end());
  moved.erase(std::unique(moved.begin(), moved.end()), moved.end());
  return moved;
}

}  // namespace

Result<Split> split_graph(const Graph& graph, const std::vector<SupportList>& lists,
                          const OpFacts& facts, const SplitOptions& options) {
  Split split;

  // What the lists say of each node by itself.
  split.support = match_support(graph, lists, facts);

  // What may go to the accelerator without non-tensor data crossing the link...
  split.acc_found = find_acc_nodes(graph, split.support, options.acc_finder);

  // ... and what must stay together because it exchanges such data. From here on the accelerator
  // set does not change: split.fusions.acc.
  split.fusions = find_fusions(graph, split.acc_found, options.fusion);

  // Alternating runs, as long as they can be; then those too small to be worth a transfer go.
  split.found = split_subgraphs(graph, split.fusions, options.subgraphs);
  MergedSubgraphs merged = merge_small_subgraphs(graph, split.found.subgraphs,
                                                 split.fusions.acc.reasons, options.subgraphs);

  // Accelerator subgraphs may reach back for nodes that only they use.
  auto extended = extend(graph, split.fusions, merged.subgraphs, options);
  if (!extended) return std::move(extended).error();
  split.extended = *std::move(extended);
  split.reasons = std::move(merged.reasons);
  for (const NodeId node : split.extended) split.reasons[node] = {};  // on the accelerator now

  // From here on the parts stand. What crosses between them follows.
  split.partition = make_partition(merged.subgraphs, options.partition);
  assert(check_partition(graph, split.partition, nullptr).has_value());
  split.boundaries = find_boundaries(graph, split.partition);
  return split;
}

}  // namespace cleave
