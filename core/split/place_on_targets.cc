// Steps:
// 1. units: groups of all targets, ties by data that is no tensor, sets;
// 2. the placement problem of core/devices: units, values and weights;
// 3. find_device_placement().
#include "core/split/place_on_targets.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/cost/cost.h"
#include "core/devices/placement.h"
#include "core/split/node_groups.h"

namespace cleave {
namespace {

constexpr auto kHost = DeviceProblem::kHost;

class TargetProblem {
 public:
  TargetProblem(const Graph& graph, const TargetPlaceRequest& request)
      : graph_(graph), request_(request), fusions_(units_of_all()), units_(graph, fusions_) {}

  DeviceProblem make() {
    add_targets();
    add_units();
    for (const ValueId value : graph_.inputs()) add_value(value);
    for (const NodeId node : graph_.nodes()) {
      for (const ValueId value : graph_.outputs(node)) add_value(value);
    }
    add_weights();
    return std::move(problem_);
  }

  const Fusions& fusions() const { return fusions_; }
  const Contraction& units() const { return units_; }
  std::size_t unknown_times() const { return unknown_times_; }
  std::size_t unknown_sizes() const { return unknown_sizes_; }

 private:
  bool may_run_on_any(NodeId node) const {
    return std::any_of(request_.alone.begin(), request_.alone.end(),
                       [&](const Fusions& alone) { return alone.acc.nodes.contains(node); });
  }

  bool makes_non_tensor(NodeId node) const {
    const auto outputs = graph_.outputs(node);
    return std::any_of(outputs.begin(), outputs.end(),
                       [&](ValueId output) { return !graph_.value(output).is_tensor(); });
  }

  Fusions units_of_all() const {
    NodeGroups joined(graph_);
    const auto add = [&](std::span<const NodeId> members) {
      for (const NodeId member : members) joined.tie(members.front(), member);
      joined.make_group(members.front());
    };
    for (const Fusions& alone : request_.alone) {
      for (std::size_t i = 0; i < alone.group_count(); ++i) add(alone.group(id_at<GroupId>(i)));
    }
    for (const auto& set : request_.sets) {
      if (!set.empty()) add(set);
    }
    for (const NodeId node : graph_.nodes()) {
      if (request_.allow_non_tensor || !makes_non_tensor(node) || !may_run_on_any(node)) continue;
      for (const NodeId reader : graph_.readers(node)) joined.tie(node, reader);
      if (!graph_.readers(node).empty()) joined.make_group(node);
    }
    AccNodes all{NodeSet(graph_.node_count()), PerNode<Reason>(graph_.node_count())};
    for (const NodeId node : graph_.nodes()) all.nodes.insert(node);
    return std::move(joined).settle(std::move(all), ReasonCode::fusion_group);
  }

  void add_targets() {
    for (std::size_t i = 0; i < request_.targets.size(); ++i) {
      const Machine& machine = request_.latency.machine_with(i);
      DeviceTarget target;
      target.down_cost = target.up_cost = 1e6 / machine.link_bytes_per_second;
      target.launch_cost = machine.launch_us.value_or(0);
      target.duplex = machine.duplex;
      target.most_parts = request_.targets[i].most_kept;
      if (machine.most_acc_parts) {
        target.most_parts = std::min(target.most_parts, *machine.most_acc_parts);
      }
      target.memory = machine.acc_memory;
      problem_.targets.push_back(target);
    }
    problem_.residency = request_.latency.residency;
  }

  // The time of a unit on each device. A target whose time of a node is not known does not take it.
  void add_units() {
    const std::size_t devices = problem_.device_count();
    problem_.unit_costs.assign(units_.unit_count() * devices, 0);
    for (const NodeId node : graph_.nodes()) {
      double* const costs = &problem_.unit_costs[units_.unit_of(node) * devices];
      const auto on_cpu = request_.latency.times.cpu.of(node);
      bool is_taken = false;
      for (std::size_t i = 0; i + 1 < devices; ++i) {
        const auto us = request_.latency.times.on_target(i).of(node);
        const bool takes = us && request_.alone[i].acc.nodes.contains(node);
        is_taken = is_taken || takes;
        costs[i] = takes && costs[i] >= 0 ? costs[i] + *us : DeviceProblem::kRefused;
      }
      if (!on_cpu) ++unknown_times_;
      costs[devices - 1] += on_cpu.value_or(0);
      if (request_.required != nullptr && request_.required->contains(node) && is_taken) {
        required_units_.push_back(units_.unit_of(node));
      }
    }
    for (const std::uint32_t unit : required_units_) {
      double* const costs = &problem_.unit_costs[unit * devices];
      const bool is_taken =
          std::any_of(costs, costs + devices - 1, [](double us) { return us >= 0; });
      if (is_taken) costs[devices - 1] = DeviceProblem::kRefused;
    }
  }

  void add_value(ValueId value) {
    const Value& record = graph_.value(value);
    const bool is_input = record.kind == ValueKind::input;
    const std::uint32_t maker = is_input ? kHost : units_.unit_of(record.producer);
    readers_.clear();
    for (const NodeId user : graph_.users(value)) {
      if (units_.unit_of(user) != maker) readers_.push_back(units_.unit_of(user));
    }
    std::sort(readers_.begin(), readers_.end());
    readers_.erase(std::unique(readers_.begin(), readers_.end()), readers_.end());
    const bool host_reads = graph_.is_graph_output(value) && !is_input;
    if (readers_.empty() && !host_reads) return;
    const auto bytes = value_bytes(graph_, value);
    if (!bytes && record.is_tensor()) ++unknown_sizes_;
    problem_.producer.push_back(maker);
    for (const std::uint32_t reader : readers_) problem_.readers.add(reader);
    problem_.readers.end_list();
    problem_.bytes.push_back(static_cast<double>(bytes.value_or(0)));
    problem_.host_reads.push_back(host_reads ? 1 : 0);
  }

  // What each unit reads of the model's parameters, where a target's memory is limited.
  void add_weights() {
    const bool is_limited = std::any_of(problem_.targets.begin(), problem_.targets.end(),
                                        [](const DeviceTarget& target) { return target.memory; });
    if (!is_limited) return;
    PerValue<std::uint32_t> number(graph_.value_count(), kHost);
    for (std::uint32_t unit = 0; unit < units_.unit_count(); ++unit) {
      for (const NodeId node : units_.nodes(unit)) {
        for (const ValueId parameter : graph_.module_parameters(node))
          add_weight(parameter, number);
        for (const Operand& operand : graph_.operands(node)) add_weight(operand.value, number);
      }
      problem_.weights.end_list();
    }
  }

  void add_weight(ValueId value, PerValue<std::uint32_t>& number) {
    if (!graph_.is_parameter(value)) return;
    std::uint32_t& weight = number[graph_.canonical_parameter(value)];
    if (weight == kHost) {
      weight = static_cast<std::uint32_t>(problem_.weight_bytes.size());
      problem_.weight_bytes.push_back(static_cast<double>(value_bytes(graph_, value).value_or(0)));
    }
    problem_.weights.add(weight);
  }

  const Graph& graph_;
  const TargetPlaceRequest& request_;
  const Fusions fusions_;
  const Contraction units_;
  DeviceProblem problem_;
  std::vector<std::uint32_t> readers_;  // of the current value
  std::vector<std::uint32_t> required_units_;
  std::size_t unknown_times_ = 0;
  std::size_t unknown_sizes_ = 0;
};

PlacementProof proof_of(DeviceProof proof) {
  switch (proof) {
    case DeviceProof::bound:
      return PlacementProof::cut;
    case DeviceProof::exhaustive:
      return PlacementProof::exhaustive;
    case DeviceProof::none:
      break;
  }
  return PlacementProof::none;
}

Error does_not_fit(const TargetPlaceRequest& request, const DevicePlacement& placement) {
  std::string needs;
  for (std::size_t i = 0; i < request.targets.size(); ++i) {
    const auto memory = request.latency.machine_with(i).acc_memory;
    if (!memory || placement.score.peak_bytes[i] <= *memory) continue;
    needs += (needs.empty() ? "" : ", ") + request.targets[i].name + " would hold " +
             std::to_string(placement.score.peak_bytes[i]) + " bytes of " + std::to_string(*memory);
  }
  return {"no placement was found that keeps to the targets' memory and number of parts" +
              (needs.empty() ? "" : ": " + needs),
          std::nullopt,
          {"raise memory= or max-subgraphs= of --target, or leave nodes of --require free"}};
}

}  // namespace

Result<TargetsPlaced> place_on_targets(const Graph& graph, const TargetPlaceRequest& request) {
  TargetProblem maker(graph, request);
  const DeviceProblem problem = maker.make();
  const DevicePlacement placement = find_device_placement(problem);
  if (placement.score.penalty > 0) return does_not_fit(request, placement);
  TargetsPlaced placed;
  placed.device_of = PerNode<DeviceIndex>(graph.node_count(), problem.host());
  for (const NodeId node : graph.nodes()) {
    placed.device_of[node] = placement.devices[maker.units().unit_of(node)];
  }
  for (std::size_t i = 0; i < maker.fusions().group_count(); ++i) {
    const auto members = maker.fusions().group(id_at<GroupId>(i));
    placed.groups.emplace_back(members.begin(), members.end());
  }
  placed.numbers.total_us = placement.score.total;
  placed.numbers.bound_us = placement.bound;
  placed.numbers.proof = proof_of(placement.proof);
  placed.numbers.launches = placement.rounds.acc_parts;
  placed.numbers.unknown_times = maker.unknown_times();
  placed.numbers.unknown_sizes = maker.unknown_sizes();
  return placed;
}

}  // namespace cleave
