// InferenceTime: the time of one inference of a split, with and without residency, compared with
// the best placement that a search finds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "core/split/boundary.h"
#include "core/split/device_use.h"
#include "core/split/latency.h"
#include "core/split/partition.h"
#include "core/split/split.h"

namespace cleave {

// Residency: which values the accelerator keeps from one part to the next, so that no value is sent
// to it twice. For each accelerator part, in call order:
//
//   resident  inputs that are already on the accelerator; the others are sent
//   keep      values that stay there after the part has run, for a later accelerator part
//   free      values that were there, sent or made, and that no later accelerator part reads
//
//   x -> acc 0 -> a -> cpu 1 -> b -> acc 2 (reads b, x)      acc 0 keeps x; x is resident in acc 2,
//                                                            which frees it and b
struct ResidencyPlan {
  PerPartLists<ValueId> keep;  // by PartId, empty lists for CPU parts; the same below
  PerPartLists<ValueId> resident;
  PerPartLists<ValueId> free;
  // The most bytes held at once: before a part runs, with the values sent to it and its outputs.
  // Tensors of known size only.
  std::uint64_t peak_bytes = 0;
  PartId peak_part = kNone<PartId>;  // kNone: there is no accelerator part
};

// Lists are in the order of the part's inputs, then its outputs. Linear in what boundaries list.
ResidencyPlan plan_residency(const Graph& graph, const Partition& partition,
                             const Boundaries& boundaries);

// What the times are computed from. `times` is empty when none was measured and no rate is known.
struct TimeBasis {
  TargetTimes times;
  Machine machine;                  // with the bandwidth of the split's link
  std::vector<Machine> later = {};  // of several targets: with the others instead of the first
  std::vector<std::string> target_names = {};  // of several
  std::vector<DirectLink> links = {};          // between them
  UnmatchedTime cpu_unmatched = {};
  UnmatchedTime acc_unmatched = {};

  const Machine& machine_with(std::size_t target) const {
    return target == 0 ? machine : later[target - 1];
  }
};

// Whether a split is faster than the CPU alone. What the profiles measured but no node includes may
// make the CPU's figure larger, and that of the accelerator.
enum class CpuVerdict : std::uint8_t { not_known, faster, slower };

// Which share of the times on each device was measured: on the CPU of all nodes, on the accelerator
// of those that it may run. nullopt: there is no such time.
struct MeasuredShares {
  std::optional<double> cpu = {};
  std::optional<double> acc = {};
};

struct InferenceTime {
  TimeBasis basis;
  Residency residency = Residency::off;  // the user's setting for the split
  Latency without = {};                  // without residency
  Latency with = {};                     // with residency
  ResidencyPlan plan = {};               // what the accelerator keeps with residency

  // The latency for the user's setting. Its best_us and bound_us are set when the times of all
  // nodes and the sizes of all tensors are known.
  const Latency& asked() const { return residency == Residency::on ? with : without; }
  // True when the search proved that no placement is faster than asked().
  bool is_proved_best = false;
  // Several targets placed by cost: what the goal would be if they were asked in order instead, in
  // microseconds or millijoules.
  PlaceGoal goal = PlaceGoal::latency;
  std::optional<double> in_order_cost = {};
  // Of several targets, where what each device draws is known.
  std::optional<double> all_cpu_mj = {};
  std::optional<double> bound_mj = {};  // placed for energy: no placement takes less
  // The nodes were placed by cost already; `keeps_for_gain`: and stay, for they would gain less than asked for.
  bool is_placed_by_cost = false;
  bool keeps_for_gain = false;
  MeasuredShares measured = {};
  std::optional<DeviceUse> use = {};  // of several targets
  bool is_overlap_asked = false;      // reports have the schedule of `use`
};

// not_known also where asked() or the time on the CPU is not known.
CpuVerdict compared_with_cpu(const InferenceTime& time);

// The machine of the options with the bandwidth of the link.
Machine machine_of(const SplitOptions& options, const Link& link);

// Linear, plus one search for the best placement (close to linear) when all times are known, unless it is
// among those `found`.
InferenceTime inference_time(const Graph& graph, const Split& split, const SplitOptions& options,
                             TimeBasis basis, FoundPlacements* found = nullptr);

}  // namespace cleave
