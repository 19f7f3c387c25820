// Target times: how long each node takes on the CPU and on the accelerator.
//
//   measured    by a profile, or in the model's file
//   calibrated  OpTime of its op, else the common one
//   estimated   max(FLOPs / rate, bytes / bandwidth) + the fixed cost of a node
//
// Where some nodes were measured, estimates of the others are scaled to them (scale_guesses); rates
// that the device lacks are then guessed, since only their ratio to what was measured counts.
// A node that reads no tensor data (Shape, Size) or moves none (Reshape, ...) has 0 FLOPs and takes
// the fixed cost only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/cost/cost.h"
#include "core/cost/device.h"
#include "core/graph/graph.h"

namespace cleave {

// Scales guesses to measurements: where some nodes were measured and others not, the others'
// guesses are multiplied by the median of measured / guessed, so that both are in one unit.

// An op with this many measured nodes has a median of its own; other ops use the median of all
// nodes.
inline constexpr std::size_t kFewestOfAnOp = 5;

struct ScaledTimes {
  PerNode<double> times;   // measured, else the scaled guess; below 0 when neither is known
  std::size_t scaled = 0;  // nodes with a scaled guess
};

// `guesses` and `measured` are in any units of time, below 0 when unknown. A node that took no time
// was fused away and has no ratio. If no ratio is known, guesses stay as they are and `scaled` is 0.
// O(n log n).
ScaledTimes scale_guesses(const Graph& graph, const PerNode<double>& guesses,
                          const PerNode<double>& measured);

enum class TimeOrigin : std::uint8_t { unknown, measured, calibrated, estimated };

struct DeviceTimes {
  PerNode<double> us;           // 0 when unknown
  PerNode<TimeOrigin> origins;  // unknown: there is no time
  std::optional<double> of(NodeId node) const {
    return origins[node] == TimeOrigin::unknown ? std::nullopt : std::optional(us[node]);
  }
  bool operator==(const DeviceTimes&) const = default;
};

struct TargetTimes {
  DeviceTimes cpu;
  DeviceTimes acc;                      // of several targets the first
  std::vector<DeviceTimes> later = {};  // of the other targets
  const DeviceTimes& on_target(std::size_t target) const {
    return target == 0 ? acc : later[target - 1];
  }
  bool operator==(const TargetTimes&) const = default;
};

// The time of a profile's kernels that match no node: no node's time includes it.
struct UnmatchedTime {
  double us = 0;
  double profile_us = 0;  // of all kernels; 0: there is no profile
  // 0 without a profile.
  double share() const { return profile_us > 0 ? us / profile_us : 0; }
};

// Microseconds measured on one device; below 0: not measured. Empty: no node was measured.
using MeasuredTimes = PerNode<double>;

// The times of all nodes on one device. Linear.
DeviceTimes device_times(const PerNode<NodeCost>& costs, const Graph& graph,
                         const DeviceNumbers& device, const MeasuredTimes& measured);

// Scales all estimates down, where their sum exceeds `most_us`, so that it is `most_us`: of a
// profile of the whole model no more is left for nodes that have no kernel of their own. Linear.
DeviceTimes with_estimates_within(DeviceTimes times, double most_us);

// The sum of all estimates in microseconds. Linear.
double estimated_us(const DeviceTimes& times);

// Both devices. Times in the model's file are CPU times; `cpu_measured` takes precedence over them.
// Linear.
TargetTimes target_times(const Graph& graph, const Machine& machine,
                         const MeasuredTimes& cpu_measured, const MeasuredTimes& acc_measured);

}  // namespace cleave
