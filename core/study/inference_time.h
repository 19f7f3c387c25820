// InferenceTime: what is known of the time of one inference of a split: with and without residency,
// and beside the best placement that a search finds.
#pragma once

#include <cstdint>
#include <optional>

#include "core/measures/residency.h"
#include "core/split/latency.h"
#include "core/split/split.h"

namespace cleave {

// What the times come from. Empty times: none was measured, and no rate is known.
struct TimeBasis {
  TargetTimes times;
  Machine machine;  // with the bandwidth of the split's link
};

struct InferenceTime {
  TimeBasis basis;
  Residency residency = Residency::off;  // that the split was asked for with
  Latency without = {};                  // residency
  Latency with = {};
  ResidencyPlan plan = {};  // what to keep, with residency

  // The one that was asked for. Its best_us and bound_us are set where the times of all nodes and
  // the sizes of all tensors are known.
  const Latency& asked() const { return residency == Residency::on ? with : without; }
  // True when the search proved that no placement is faster; then of these times.
  bool is_proved_best = false;
};

// The machine of the options with the bandwidth of the link.
Machine machine_of(const SplitOptions& options, const Link& link);

// Linear, and one search for the best placement (close to linear) where all times are known.
InferenceTime inference_time(const Graph& graph, const Split& split, const SplitOptions& options,
                             TimeBasis basis);

}  // namespace cleave
