#include "core/measures/inference_time.h"

#include <algorithm>
#include <utility>

#include "core/cost/cost.h"
#include "core/devices/energy.h"

namespace cleave {
namespace {

class ResidencyPlanner {
 public:
  ResidencyPlanner(const Graph& graph, const Partition& partition, const Boundaries& boundaries)
      : graph_(graph),
        partition_(partition),
        boundaries_(boundaries),
        targets_(target_count(partition), Held(graph.value_count())) {}

  ResidencyPlan run() && {
    for (const PartId part : partition_.parts()) {
      if (!partition_.is_acc(part)) continue;
      for (const ValueId value : boundaries_.inputs[part]) held_by(part).last_reader[value] = part;
    }
    for (const PartId part : partition_.parts()) {
      begin_lists();
      if (partition_.is_acc(part)) pass(part);
    }
    begin_lists();
    return std::move(plan_);
  }

 private:
  // What one target holds.
  struct Held {
    explicit Held(std::size_t values) : last_reader(values, kNone<PartId>), held(values) {}
    PerValue<PartId> last_reader;  // among its parts
    ValueSet held;
    std::uint64_t bytes = 0;
  };

  static std::size_t target_count(const Partition& partition) {
    std::size_t count = 1;
    for (const TargetId target : partition.targets) {
      if (target != kNone<TargetId>) count = std::max(count, std::size_t{index(target)} + 1);
    }
    return count;
  }

  Held& held_by(PartId part) { return targets_[index(partition_.target(part))]; }

  void begin_lists() {
    for (auto* const list : {&plan_.keep, &plan_.resident, &plan_.free}) {
      list->begin.push_back(static_cast<std::uint32_t>(list->items.size()));
    }
  }

  void pass(PartId part) {
    Held& held = held_by(part);
    for (const ValueId value : boundaries_.inputs[part]) {
      if (held.held.contains(value)) {
        plan_.resident.items.push_back(value);
      } else {
        take(value, held);
      }
    }
    for (const ValueId value : boundaries_.outputs[part]) take(value, held);
    if (plan_.peak_part == kNone<PartId> || held.bytes > plan_.peak_bytes) {
      plan_.peak_bytes = held.bytes;
      plan_.peak_part = part;
    }
    for (const ValueId value : boundaries_.inputs[part]) settle(value, part);
    for (const ValueId value : boundaries_.outputs[part]) settle(value, part);
  }

  void take(ValueId value, Held& held) const {
    if (held.held.insert(value)) held.bytes += bytes_of(value);
  }

  void settle(ValueId value, PartId part) {
    Held& held = held_by(part);
    const PartId last = held.last_reader[value];
    if (last != kNone<PartId> && index(last) > index(part)) {
      plan_.keep.items.push_back(value);
    } else if (held.held.erase(value)) {
      held.bytes -= bytes_of(value);
      plan_.free.items.push_back(value);
    }
  }

  std::uint64_t bytes_of(ValueId value) const { return value_bytes(graph_, value).value_or(0); }

  const Graph& graph_;
  const Partition& partition_;
  const Boundaries& boundaries_;
  std::vector<Held> targets_;
  ResidencyPlan plan_;
};

}  // namespace

ResidencyPlan plan_residency(const Graph& graph, const Partition& partition,
                             const Boundaries& boundaries) {
  return ResidencyPlanner(graph, partition, boundaries).run();
}

namespace {

// The relative difference that adding the same times in another order may make.
constexpr double kRounding = 1e-9;

// The best placement of the nodes that may go to the accelerator. A split that was placed by cost
// already holds these numbers, from its own search.
PlacementNumbers numbers_of(const Graph& graph, const Split& split, const SplitOptions& options,
                            const LatencyInput& input, FoundPlacements* found) {
  if (split.placement) return *split.placement;
  return best_placement(
      graph, split.fusions,
      {.latency = input,
       .allow_non_tensor = options.allow_non_tensor,
       .shape_computations = options.host_shapes ? &split.host_shapes.nodes : nullptr,
       .found = found});
}

void add_best(const Graph& graph, const Split& split, const SplitOptions& options,
              FoundPlacements* found, InferenceTime& time) {
  Latency& asked = time.residency == Residency::on ? time.with : time.without;
  if (!asked.total_us || !asked.all_cpu_us) return;
  const LatencyInput input{time.basis.times, time.basis.machine, time.residency};
  const bool is_searched = split.placement && time.goal == PlaceGoal::latency;
  if (!split.targets.empty() && !is_searched) return;
  const PlacementNumbers best = numbers_of(graph, split, options, input, found);
  if (best.unknown_times > 0 || best.unknown_sizes > 0) return;
  asked.best_us = std::min(best.total_us, *asked.total_us);
  asked.bound_us = std::min(best.bound_us, *asked.best_us);
  const bool is_best = *asked.total_us <= best.total_us * (1 + kRounding);
  const bool is_bound = *asked.total_us <= best.bound_us * (1 + kRounding);
  time.is_proved_best = is_bound || (is_best && best.proof != PlacementProof::none);
}

// The share of the times of these nodes that was measured; nullopt if they have none.
template <class IsCounted>
std::optional<double> measured_share(const Graph& graph, const DeviceTimes& times,
                                     IsCounted is_counted) {
  double all = 0;
  double measured = 0;
  for (const NodeId node : graph.nodes()) {
    if (times.origins[node] == TimeOrigin::unknown || !is_counted(node)) continue;
    all += times.us[node];
    if (times.origins[node] == TimeOrigin::measured) measured += times.us[node];
  }
  return all > 0 ? std::optional(measured / all) : std::nullopt;
}

// A node that a placement by cost moved to the CPU was compared with its time on the accelerator.
MeasuredShares measured_shares(const Graph& graph, const Split& split, const TargetTimes& times) {
  const Partition& partition = split.partition;
  const auto may_run_on_acc = [&](NodeId node) {
    return partition.is_acc(partition.part_of[node]) ||
           split.reasons[node].code == ReasonCode::costs_more;
  };
  const auto on_cpu = measured_share(graph, times.cpu, [](NodeId) { return true; });
  if (split.targets.empty()) return {on_cpu, measured_share(graph, times.acc, may_run_on_acc)};
  double all = 0;
  double measured = 0;
  for (const NodeId node : graph.nodes()) {
    const TargetId target = partition.target(partition.part_of[node]);
    if (target == kNone<TargetId>) continue;
    const DeviceTimes& own = times.on_target(index(target));
    all += own.us[node];
    if (own.origins[node] == TimeOrigin::measured) measured += own.us[node];
  }
  return {on_cpu, all > 0 ? std::optional(measured / all) : std::nullopt};
}

}  // namespace

CpuVerdict compared_with_cpu(const InferenceTime& time) {
  const Latency& latency = time.asked();
  if (!latency.total_us || !latency.all_cpu_us) return CpuVerdict::not_known;
  const bool uses_acc = latency.launches > 0;
  const double acc_left = uses_acc ? time.basis.acc_unmatched.us : 0;
  const double cpu_left = uses_acc ? time.basis.cpu_unmatched.us : 0;
  if (*latency.total_us + acc_left < *latency.all_cpu_us) return CpuVerdict::faster;
  return *latency.total_us < *latency.all_cpu_us + cpu_left ? CpuVerdict::not_known
                                                            : CpuVerdict::slower;
}

Machine machine_of(const SplitOptions& options, const Link& link) {
  Machine machine = options.machine;
  machine.link_bytes_per_second = link.bytes_per_second;
  return machine;
}

InferenceTime inference_time(const Graph& graph, const Split& split, const SplitOptions& options,
                             TimeBasis basis, FoundPlacements* found) {
  InferenceTime time{.basis = std::move(basis), .residency = options.residency};
  const auto input_with = [&](Residency residency) {
    return LatencyInput{time.basis.times, time.basis.machine, residency, time.basis.later,
                        time.basis.links};
  };
  const auto latency_with = [&](Residency residency) {
    return latency(graph, split.partition, split.boundaries, input_with(residency));
  };
  time.without = latency_with(Residency::off);
  time.with = latency_with(Residency::on);
  time.in_order_cost = split.in_order_cost;
  time.goal = options.place_goal;
  time.is_placed_by_cost = split.placement.has_value();
  time.keeps_for_gain = split.placement && split.placement->is_too_little;
  if (!split.targets.empty()) {
    time.use = device_use(graph, split.partition, input_with(time.residency));
    const auto& cpu = time.basis.machine.cpu.energy;
    if (!time.use->energy_mj.empty()) time.all_cpu_mj = all_cpu_mj(graph, *cpu);
    const bool is_for_energy = split.placement && time.goal == PlaceGoal::energy;
    if (is_for_energy) time.bound_mj = split.placement->bound_us;
  }
  time.plan = plan_residency(graph, split.partition, split.boundaries);
  time.measured = measured_shares(graph, split, time.basis.times);
  add_best(graph, split, options, found, time);
  return time;
}

}  // namespace cleave
