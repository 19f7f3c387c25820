// Steps:
// 1. choose the side to start on;
// 2. alternate between the sides, each time taking all units that are ready;
// 3. merge_small_subgraphs(): small accelerator subgraphs join the CPU.
#include "core/split/subgraphs.h"

#include <array>
#include <utility>

#include "core/split/contraction.h"

namespace cleave {
namespace {

Device other(Device device) { return device == Device::acc ? Device::cpu : Device::acc; }

// Takes ready units in the current mode until none is left, then flips. A unit is ready when every
// unit that it reads from has been taken.
class Alternation {
 public:
  Alternation(const Graph& graph, const Contraction& units, const NodeSet& acc)
      : graph_(graph), units_(units), acc_(acc), waits_(units.unit_count(), 0) {
    for (const NodeId node : graph.nodes()) {
      for (const NodeId reader : graph.readers(node)) {
        if (units.unit_of(reader) != units.unit_of(node)) ++waits_[units.unit_of(reader)];
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
    }
  }

  const Graph& graph_;
  const Contraction& units_;
  const NodeSet& acc_;
  std::vector<std::uint32_t> waits_;  // by unit: number of reads from units not yet taken
};

}  // namespace

SubgraphsFound split_subgraphs(const Graph& graph, const Fusions& fusions,
                               const SubgraphOptions& options) {
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
                                      PerNode<Reason> reasons, const SubgraphOptions& options) {
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

}  // namespace cleave
