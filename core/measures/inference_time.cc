#include "core/measures/inference_time.h"

#include <algorithm>
#include <utility>

#include "core/cost/cost.h"

namespace cleave {
namespace {

class ResidencyPlanner {
 public:
  ResidencyPlanner(const Graph& graph, const Partition& partition, const Boundaries& boundaries)
      : graph_(graph),
        partition_(partition),
        boundaries_(boundaries),
        last_reader_(graph.value_count(), kNone<PartId>),
        held_(graph.value_count()) {}

  ResidencyPlan run() && {
    for (const PartId part : partition_.parts()) {
      if (!partition_.is_acc(part)) continue;
      for (const ValueId value : boundaries_.inputs[part]) last_reader_[value] = part;
    }
    for (const PartId part : partition_.parts()) {
      begin_lists();
      if (partition_.is_acc(part)) pass(part);
    }
    begin_lists();
    return std::move(plan_);
  }

 private:
  void begin_lists() {
    for (auto* const list : {&plan_.keep, &plan_.resident, &plan_.free}) {
      list->begin.push_back(static_cast<std::uint32_t>(list->items.size()));
    }
  }

  void pass(PartId part) {
    for (const ValueId value : boundaries_.inputs[part]) {
      if (held_.contains(value)) {
        plan_.resident.items.push_back(value);
      } else {
        take(value);
      }
    }
    for (const ValueId value : boundaries_.outputs[part]) take(value);
    if (plan_.peak_part == kNone<PartId> || held_bytes_ > plan_.peak_bytes) {
      plan_.peak_bytes = held_bytes_;
      plan_.peak_part = part;
    }
    for (const ValueId value : boundaries_.inputs[part]) settle(value, part);
    for (const ValueId value : boundaries_.outputs[part]) settle(value, part);
  }

  void take(ValueId value) {
    if (held_.insert(value)) held_bytes_ += bytes_of(value);
  }

  void settle(ValueId value, PartId part) {
    const PartId last = last_reader_[value];
    if (last != kNone<PartId> && index(last) > index(part)) {
      plan_.keep.items.push_back(value);
    } else if (held_.erase(value)) {
      held_bytes_ -= bytes_of(value);
      plan_.free.items.push_back(value);
    }
  }

  std::uint64_t bytes_of(ValueId value) const { return value_bytes(graph_, value).value_or(0); }

  const Graph& graph_;
  const Partition& partition_;
  const Boundaries& boundaries_;
  PerValue<PartId> last_reader_;  // accelerator parts only
  ValueSet held_;
  std::uint64_t held_bytes_ = 0;
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
                            const LatencyInput& input) {
  if (split.placement) return *split.placement;
  return best_placement(
      graph, split.fusions,
      {.latency = input,
       .acc_finder = options.acc_finder,
       .shape_computations = options.host_shapes.follow ? &split.host_shapes.nodes : nullptr});
}

void add_best(const Graph& graph, const Split& split, const SplitOptions& options,
              InferenceTime& time) {
  Latency& asked = time.residency == Residency::on ? time.with : time.without;
  if (!asked.total_us || !asked.all_cpu_us) return;
  const LatencyInput input{time.basis.times, time.basis.machine, time.residency};
  const PlacementNumbers best = numbers_of(graph, split, options, input);
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
  return {measured_share(graph, times.cpu, [](NodeId) { return true; }),
          measured_share(graph, times.acc, may_run_on_acc)};
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
  Machine machine = options.latency.machine;
  machine.link_bytes_per_second = link.bytes_per_second;
  return machine;
}

InferenceTime inference_time(const Graph& graph, const Split& split, const SplitOptions& options,
                             TimeBasis basis) {
  InferenceTime time{.basis = std::move(basis), .residency = options.latency.residency};
  const auto latency_with = [&](Residency residency) {
    return latency(graph, split.partition, split.boundaries,
                   {time.basis.times, time.basis.machine, residency});
  };
  time.without = latency_with(Residency::off);
  time.with = latency_with(Residency::on);
  time.plan = plan_residency(graph, split.partition, split.boundaries);
  time.measured = measured_shares(graph, split, time.basis.times);
  add_best(graph, split, options, time);
  return time;
}

}  // namespace cleave
