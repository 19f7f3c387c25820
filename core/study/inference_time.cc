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

}  // namespace

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
  add_best(graph, split, options, time);
  return time;
}

}  // namespace cleave
