#include "core/study/inference_time.h"

#include <algorithm>
#include <utility>

namespace cleave {
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
