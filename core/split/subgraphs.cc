#include "core/split/subgraphs.h"

#include <algorithm>
#include <array>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/adjacency.h"
#include "core/split/fusion.h"

namespace cleave {

// Steps:
// 1. choose the side to start on;
// 2. alternate between the sides, each time taking all units that are ready;
// 3. merge_small_subgraphs(): small accelerator subgraphs join the CPU.

namespace {

Device other(Device device) { return device == Device::acc ? Device::cpu : Device::acc; }

// Takes ready units in the current mode until none is left, then flips. A unit is ready when every
// unit that it reads from, or that must run before it, has been taken.
class Alternation {
 public:
  Alternation(const Graph& graph, const Contraction& units, const NodeSet& acc)
      : graph_(graph), units_(units), acc_(acc), waits_(units.unit_count(), 0) {
    for (const NodeId node : graph.nodes()) {
      for (const NodeId reader : graph.readers(node)) {
        if (units.unit_of(reader) != units.unit_of(node)) ++waits_[units.unit_of(reader)];
      }
      for (const NodeId follower : graph.followers(node)) {
        if (units.unit_of(follower) != units.unit_of(node)) ++waits_[units.unit_of(follower)];
      }
    }
  }

  Device reference_start() const {
    for (std::uint32_t unit = 0; unit < units_.unit_count(); ++unit) {
      if (waits_[unit] == 0 && device_of(unit) == Device::cpu && reads_input_or_parameter(unit)) {
        return Device::cpu;
      }
    }
    return Device::acc;
  }

  Subgraphs run(Device start) {
    std::vector<std::uint32_t> waits = waits_;
    std::array<std::vector<std::uint32_t>, 2> ready;  // by Device
    for (std::uint32_t unit = 0; unit < units_.unit_count(); ++unit) {
      if (waits[unit] == 0) queue(ready, unit);
    }
    Subgraphs result;
    result.subgraph_of = PerNode<PartId>(graph_.node_count(), kNone<PartId>);
    for (Device mode = start; !ready[0].empty() || !ready[1].empty(); mode = other(mode)) {
      auto& now = ready[static_cast<std::size_t>(mode)];
      if (now.empty()) continue;  // only at the start
      result.devices.push_back(mode);
      result.sizes.push_back(0);
      while (!now.empty()) {
        const std::uint32_t unit = now.back();
        now.pop_back();
        take(unit, result, waits, ready);
      }
    }
    return result;
  }

 private:
  using Ready = std::array<std::vector<std::uint32_t>, 2>;

  Device device_of(std::uint32_t unit) const {
    return acc_.contains(units_.first(unit)) ? Device::acc : Device::cpu;
  }
  void queue(Ready& ready, std::uint32_t unit) const {
    ready[static_cast<std::size_t>(device_of(unit))].push_back(unit);
  }
  bool reads_input_or_parameter(std::uint32_t unit) const {
    for (const NodeId node : units_.nodes(unit)) {
      for (const Operand& operand : graph_.operands(node)) {
        if (graph_.value(operand.value).kind != ValueKind::node_output) return true;
      }
    }
    return false;
  }

  void take(std::uint32_t unit, Subgraphs& result, std::vector<std::uint32_t>& waits,
            Ready& ready) const {
    for (const NodeId node : units_.nodes(unit)) {
      result.subgraph_of[node] = id_at<PartId>(result.devices.size() - 1);
      ++result.sizes.back();
      for (const NodeId reader : graph_.readers(node)) {
        const std::uint32_t to = units_.unit_of(reader);
        if (to != unit && --waits[to] == 0) queue(ready, to);
      }
      for (const NodeId follower : graph_.followers(node)) {
        const std::uint32_t to = units_.unit_of(follower);
        if (to != unit && --waits[to] == 0) queue(ready, to);
      }
    }
  }

  const Graph& graph_;
  const Contraction& units_;
  const NodeSet& acc_;
  std::vector<std::uint32_t> waits_;  // by unit: number of reads from units not yet taken
};

}  // namespace

SubgraphsFound split_subgraphs(const Graph& graph, const Fusions& fusions,
                               const SplitOptions& options) {
  const Contraction units(graph, fusions);
  Alternation alternation(graph, units, fusions.acc.nodes);
  Device start = alternation.reference_start();
  if (options.start == StartSide::cpu) start = Device::cpu;
  if (options.start == StartSide::acc) start = Device::acc;
  Subgraphs chosen = alternation.run(start);
  Subgraphs opposite = alternation.run(other(start));
  if (options.start == StartSide::fewest && opposite.count() < chosen.count()) {
    std::swap(chosen, opposite);
  }
  return {std::move(chosen), opposite.count()};
}

MergedSubgraphs merge_small_subgraphs(const Graph& graph, const Subgraphs& subgraphs,
                                      PerNode<Reason> reasons, const SplitOptions& options) {
  Subgraphs merged;
  std::vector<PartId> new_id(subgraphs.count());
  std::vector<bool> was_small(subgraphs.count(), false);
  for (std::size_t i = 0; i < subgraphs.count(); ++i) {
    const Device device = subgraphs.devices[i];
    const bool small = device == Device::acc && subgraphs.sizes[i] < options.min_acc_size;
    const bool follows_cpu = !merged.devices.empty() && merged.devices.back() == Device::cpu;
    const bool joins = small ? !merged.devices.empty() : device == Device::cpu && follows_cpu;
    if (!joins) {
      merged.devices.push_back(small ? Device::cpu : device);
      merged.sizes.push_back(0);
    }
    merged.sizes.back() += subgraphs.sizes[i];
    new_id[i] = id_at<PartId>(merged.count() - 1);
    was_small[i] = small;
  }
  merged.subgraph_of = PerNode<PartId>(graph.node_count(), kNone<PartId>);
  for (const NodeId node : graph.nodes()) {
    const std::uint32_t before = index(subgraphs.subgraph_of[node]);
    merged.subgraph_of[node] = new_id[before];
    if (was_small[before] && merged.devices[index(new_id[before])] == Device::cpu) {
      reasons[node] = {.code = ReasonCode::small_subgraph, .size = subgraphs.sizes[before]};
    }
  }
  return {std::move(merged), std::move(reasons)};
}

namespace {

class NonTensorMoves {
 public:
  NonTensorMoves(const Graph& graph, Fusions& fusions, Subgraphs& subgraphs)
      : graph_(graph), fusions_(fusions), subgraphs_(subgraphs) {}

  void run() {
    std::vector<std::vector<NodeId>> candidates(subgraphs_.count());
    for (const NodeId node : graph_.nodes()) {
      const PartId home = subgraphs_.subgraph_of[node];
      const bool is_acc = subgraphs_.devices[index(home)] == Device::acc;
      if (is_acc && makes_non_tensor(node) && has_readers_outside(node)) {
        candidates[index(home)].push_back(node);
      }
    }
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      move_from(id_at<PartId>(i), {candidates[i].begin(), candidates[i].end()});
    }
  }

 private:
  bool makes_non_tensor(NodeId node) const {
    const auto outputs = graph_.outputs(node);
    return std::any_of(outputs.begin(), outputs.end(),
                       [&](ValueId output) { return !graph_.value(output).is_tensor(); });
  }

  bool has_readers_outside(NodeId node) const {
    const auto readers = graph_.readers(node);
    return std::any_of(readers.begin(), readers.end(), [&](NodeId reader) {
      return subgraphs_.subgraph_of[reader] != subgraphs_.subgraph_of[node];
    });
  }

  void move_from(PartId home, std::deque<NodeId> queue) {
    NodeSet looked_at(graph_.node_count());
    while (!queue.empty()) {
      const NodeId node = queue.front();
      queue.pop_front();
      if (!looked_at.insert(node) || subgraphs_.subgraph_of[node] != home) continue;
      const auto target = only_target(node);
      if (!target || !move_with_dependents(node, home, *target)) continue;
      for (const Operand& operand : graph_.operands(node)) {
        if (graph_.value(operand.value).kind != ValueKind::node_output) continue;
        const NodeId maker = graph_.value(operand.value).producer;
        if (subgraphs_.subgraph_of[maker] == home && makes_non_tensor(maker)) {
          queue.push_back(maker);
        }
      }
    }
  }

  // The subgraph of all readers outside the node's own; nullopt: there are several.
  std::optional<PartId> only_target(NodeId node) const {
    std::optional<PartId> target;
    for (const NodeId reader : graph_.readers(node)) {
      const PartId part = subgraphs_.subgraph_of[reader];
      if (part == subgraphs_.subgraph_of[node]) continue;
      if (target && *target != part) return std::nullopt;
      target = part;
    }
    return target;
  }

  // False, and nothing moves, if a dependent has a reader in a third subgraph or is in a fusion
  // group.
  bool move_with_dependents(NodeId node, PartId home, PartId target) {
    NodeSet found(graph_.node_count());
    std::vector<NodeId> moved = {node};
    found.insert(node);
    for (std::size_t i = 0; i < moved.size(); ++i) {
      if (fusions_.group_of[moved[i]] != kNone<GroupId>) return false;
      if (!graph_.followers(moved[i]).empty()) return false;
      for (const NodeId reader : graph_.readers(moved[i])) {
        const PartId part = subgraphs_.subgraph_of[reader];
        if (part == target) continue;
        if (part != home) return false;
        if (found.insert(reader)) moved.push_back(reader);
      }
    }
    for (const NodeId each : moved) put(each, node, home, target);
    return true;
  }

  void put(NodeId node, NodeId because, PartId home, PartId target) {
    subgraphs_.subgraph_of[node] = target;
    --subgraphs_.sizes[index(home)];
    ++subgraphs_.sizes[index(target)];
    if (subgraphs_.devices[index(target)] == Device::acc) return;
    fusions_.acc.nodes.erase(node);
    fusions_.acc.reasons[node] =
        node == because
            ? Reason{.code = ReasonCode::non_tensor_output, .because = reader_in(node, target)}
            : Reason{.code = ReasonCode::fusion_group, .because = because};
  }

  NodeId reader_in(NodeId node, PartId target) const {
    for (const NodeId reader : graph_.readers(node)) {
      if (subgraphs_.subgraph_of[reader] == target) return reader;
    }
    return kNone<NodeId>;
  }

  const Graph& graph_;
  Fusions& fusions_;
  Subgraphs& subgraphs_;
};

}  // namespace

NonTensorsMoved move_non_tensor_nodes(const Graph& graph, Fusions fusions, Subgraphs subgraphs) {
  NonTensorMoves(graph, fusions, subgraphs).run();
  return {std::move(fusions), std::move(subgraphs)};
}

Subgraphs with_cpu_neighbours_merged(const Subgraphs& subgraphs) {
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

}  // namespace cleave
