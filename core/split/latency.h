// Latency: the time of one inference of a split, part after part.
//
//   nodes on the CPU + nodes on the accelerator + launches of accelerator parts + the link
//
// The link carries the inputs and outputs of accelerator parts. Without residency a value crosses
// once into each accelerator part that reads it, and once out of the part that makes it when
// another part or the graph's output reads it. With residency it crosses at most once in each
// direction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/base/result.h"
#include "core/cost/device.h"
#include "core/cost/target_times.h"
#include "core/devices/problem.h"
#include "core/graph/graph.h"
#include "core/split/boundary.h"
#include "core/split/partition.h"

namespace cleave {

// The number that is missing from the total; it decides which option the message asks for.
enum class MissingNumber : std::uint8_t {
  none,        // the total is known
  cpu_times,   // neither times nor rates of the CPU are known
  acc_times,   // neither times nor rates of the accelerator are known
  launch,      // the time of a launch is unknown
  node_time,   // one node has no time: it was not measured, and its FLOPs or sizes are unknown
  value_bytes  // the size of one tensor that crosses is unknown
};

// Whether some node's time on the device is known. Linear.
bool has_any_time(const DeviceTimes& times);

// Bytes over the link.
struct LinkBytes {
  std::uint64_t in = 0;              // to the accelerator
  std::uint64_t out = 0;             // to the CPU
  std::uint64_t direct = 0;          // straight from other targets, not through the CPU
  double direct_us = 0;              // the time of these
  ValueId unknown = kNone<ValueId>;  // the first tensor that crosses and has an unknown size
};

// Microseconds. A number that depends on an unknown one is nullopt.
struct PartLatency {
  std::optional<double> compute_us;
  // 0 for CPU parts; with residency: the values sent for this part
  std::optional<double> link_us;
  std::optional<double> launch_us;
};

// What one of several targets takes of an inference.
struct TargetLatency {
  std::optional<double> compute_us;
  std::optional<double> link_us;
  std::optional<double> launch_us;
};

struct Latency {
  std::optional<double> total_us;
  std::optional<double> cpu_us;
  std::optional<double> acc_us;
  std::optional<double> link_us;
  std::optional<double> launch_us;
  std::size_t launches = 0;  // of accelerator parts
  std::optional<double> all_cpu_us;
  std::optional<double> best_us;   // the best placement found; set by the caller that searched
  std::optional<double> bound_us;  // no placement is faster; set by the same caller
  bool is_measured = false;        // every node's time on its device was measured
  double measured_share = 0;       // of cpu_us + acc_us; 0 when these are unknown

  MissingNumber missing = MissingNumber::none;
  NodeId missing_node = kNone<NodeId>;     // node_time: the first such node
  bool is_missing_on_acc = false;          // node_time: the node is on the accelerator
  std::size_t missing_target = 0;          // on which of several targets a number is missing
  ValueId missing_value = kNone<ValueId>;  // value_bytes: the first such value
  LinkBytes link_bytes;
  PerPart<PartLatency> parts;
  std::vector<TargetLatency> targets = {};  // of several
};

// What the latency of a split depends on, besides the split.
struct LatencyInput {
  const TargetTimes& times;
  const Machine& machine;
  Residency residency = Residency::off;
  std::span<const Machine> later = {};  // of several targets: with the others instead of the first
  std::span<const DirectLink> links = {};  // between targets

  std::size_t target_count() const { return later.size() + 1; }
  const Machine& machine_with(std::size_t target) const {
    return target == 0 ? machine : later[target - 1];
  }
};

// Refuses when a time on either device, or the time of a launch, cannot be known; the error says
// which and what to give.
Status<> check_latency_input(const LatencyInput& input);

// A part's link_us is the time of its bytes in and out; with a full-duplex link, of the larger of
// the two. The link's time is the sum over the parts, since each waits for its own. Linear.
Latency latency(const Graph& graph, const Partition& partition, const Boundaries& boundaries,
                const LatencyInput& input);

// The bytes that cross for each part, by PartId; 0 for CPU parts. Non-tensors count 0 bytes.
// Linear.
PerPart<LinkBytes> part_link_bytes(const Graph& graph, const Partition& partition,
                                   const Boundaries& boundaries, const LatencyInput& input);

// The sum over all parts.
LinkBytes total_link_bytes(const PerPart<LinkBytes>& parts);

// Microseconds that the links take for the bytes of one part.
double link_us(const LinkBytes& bytes, const Machine& machine);

}  // namespace cleave
