// What nodes cost: FLOPs, bytes, times on devices, and what profiles teach about them.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/base.h"
#include "core/base/quantity.h"
#include "core/graph/graph.h"

namespace cleave {

// ---- device ----
//
// Devices: the speeds and sizes of the CPU, the accelerator and the link between them.
//
// A number that was not given is unknown, and so is any latency that needs it.

enum class Duplex : std::uint8_t {
  half,  // both directions share the link: a split waits for bytes in + bytes out
  full,  // each direction has the whole bandwidth: a part waits for the larger sum
};

// Whether the accelerator keeps a value that it made or received until its last reader there has
// run, so that no value is sent to it twice.
enum class Residency : std::uint8_t { off, on };

// A calibrated time of an op: us + us_per_flop * FLOPs + us_per_byte * bytes.
struct OpTime {
  std::string op;  // op_key() of the op type; "": every op without an entry
  double us = 0;
  double us_per_flop = 0;
  double us_per_byte = 0;
  bool operator==(const OpTime&) const = default;
};

// What a device draws. 0: nothing that counts.
struct EnergyNumbers {
  double pj_per_flop = 0;
  double pj_per_byte = 0;  // of its memory
  double mj_per_launch = 0;
  bool operator==(const EnergyNumbers&) const = default;
};

// One device. The time of a node on it: measured, else calibrated, else
// max(FLOPs / flops_per_second, bytes / bytes_per_second) + node_us.
struct DeviceNumbers {
  std::optional<double> flops_per_second = {};
  std::optional<double> bytes_per_second = {};  // of its memory
  double node_us = 0;                           // a node's fixed cost
  std::vector<OpTime> calibrated = {};          // sorted by op
  std::optional<EnergyNumbers> energy = {};
  bool operator==(const DeviceNumbers&) const = default;
};

// One CPU, one accelerator, one link.
struct Machine {
  DeviceNumbers cpu = {};
  DeviceNumbers acc = {};
  std::optional<double> launch_us = {};            // of one accelerator partition
  double cpu_launch_us = 0;                        // of one CPU partition
  std::optional<std::uint64_t> acc_memory = {};    // bytes
  std::optional<std::size_t> most_acc_parts = {};  // that the accelerator can hold
  double link_bytes_per_second = 100.0 * (1U << 30U);
  Duplex duplex = Duplex::half;
  bool operator==(const Machine&) const = default;
};

// True when calibrated times or both rates are known, so that nodes that were not measured have a
// time.
inline bool has_rates(const DeviceNumbers& device) {
  return !device.calibrated.empty() || (device.flops_per_second && device.bytes_per_second);
}

// ---- cost ----
//
// Costs of nodes (floating-point operations, bytes moved) and sizes of values and parameters.

// Bytes of a tensor value; nullopt for a non-tensor, or when a dim or the dtype is unknown.
std::optional<std::uint64_t> value_bytes(const Graph& graph, ValueId value);

struct NodeCost {
  std::optional<double> flops;  // a multiply-add counts as 2; nullopt: the op or a shape is unknown
  // Bytes of tensor inputs, parameters and outputs, each once. When an op looks rows up in a table,
  // only these rows count. 0 for an op that moves no data (Shape, Reshape, Identity, ...); nullopt:
  // a size is unknown.
  std::optional<double> bytes;
};

// The costs of all nodes: what the file measured, else the estimate from op type and shapes. Knows
// ONNX operators and the torch functions and modules that dominate real models; the table is in
// core/cost/flops.cc, its sources are under "op flops" below. Linear.
PerNode<NodeCost> node_costs(const Graph& graph);

// The FLOPs of all nodes.
PerNode<std::optional<double>> node_flops(const Graph& graph);

// ---- op flops ----
//
// Floating-point operations of one node, from its op type and shapes.

// A node as cost formulas see it: inputs by position or keyword, sizes that may be unknown.

// A number that may be unknown; what is computed from an unknown number is unknown too.
using Count = std::optional<double>;
inline Count operator*(Count a, Count b) { return a && b ? Count(*a * *b) : std::nullopt; }
inline Count operator+(Count a, Count b) { return a && b ? Count(*a + *b) : std::nullopt; }
// Division by 0 gives 0, since the numerator is empty then, too.
Count operator/(Count a, Count b);

class NodeView {
 public:
  NodeView(const Graph& graph, NodeId node) : graph_(graph), node_(node) {}

  const Graph& graph() const { return graph_; }
  NodeId id() const { return node_; }
  // The tensor at that position, or with that keyword.
  std::optional<ValueId> input(std::uint32_t position, std::string_view keyword = {}) const;
  std::optional<ValueId> output(std::size_t i = 0) const;
  // The weight: an operand, or the module's own parameter of at least `least_rank` dims.
  std::optional<ValueId> weight(std::uint32_t position, std::size_t least_rank) const;
  std::span<const Operand> operands() const { return graph_.operands(node_); }
  std::span<const ValueId> module_parameters() const { return graph_.module_parameters(node_); }

  Count elements(std::optional<ValueId> value) const;
  // A dim counted from the end: 1 is the last.
  Count dim_from_end(std::optional<ValueId> value, std::size_t back) const;
  // 0 when the rank is unknown.
  std::size_t rank(std::optional<ValueId> value) const;

  // The integers of the first attribute found under one of these names; empty when there is none.
  std::vector<std::int64_t> integers(std::initializer_list<std::string_view> names) const;
  bool is_set(std::initializer_list<std::string_view> names) const;
  std::string_view text(std::initializer_list<std::string_view> names) const;

 private:
  const Graph& graph_;
  NodeId node_;
};

// Formulas for the floating-point operations of a node, from its op type and shapes. The table in
// core/cost/flops.cc assigns a formula to each operator.
//
// Sources: the counters of fvcore (fvcore/nn/jit_handles.py) and of torch
// (torch.utils.flop_counter), which count a multiply-add once, here as 2; for operators that
// neither counts, their definition in the ONNX specification or in ONNX Runtime's
// ContribOperators.md.

// `number` is the second number of the op's row in the table. nullopt when a size is unknown.
using FlopsFormula = Count (*)(const NodeView& node, double number);

// What the table has for an operator.
struct Formula {
  FlopsFormula flops;
  double number = 0;
};

// A row of a table of formulas.
struct FlopsRow {
  std::string_view ops;  // separated by one space
  Formula formula;
};

// `number` for each output element, or each element of the first input.
Count flops_per_output(const NodeView& node, double number);
Count flops_per_input(const NodeView& node, double number);

// `number`: position of the weight [out channels, in channels / groups, kernel...].
Count flops_of_convolution(const NodeView& node, double number);
// The weight is [in channels, out channels / groups, kernel...]; each input element is multiplied
// by it.
Count flops_of_transposed_convolution(const NodeView& node, double number);
// `number`: position of the left factor, whose last dim is summed over; with transA the one before.
Count flops_of_product(const NodeView& node, double number);

// One for each element under the kernel.
Count flops_of_pooling(const NodeView& node, double number);
// For linear modes 2 per side of the window, for cubic ones 4; nearest only moves data. `number`
// not 0: linear is the default mode.
Count flops_of_resize(const NodeView& node, double number);
// Each selected box is compared with every box. The number of selected boxes depends on the data:
// unknown unless a run showed the shape of the output.
Count flops_of_suppression(const NodeView& node, double number);
// Ops that only move data: 0.
Count no_flops(const NodeView& node, double number);

// A multiply-add counts as 2. nullopt when the op is not in the table of core/cost/flops.cc, or
// when a shape that its formula needs is unknown.
std::optional<double> op_flops(const Graph& graph, NodeId node);

// The FLOPs of all nodes; looks up each op type once.
PerNode<std::optional<double>> op_flops(const Graph& graph);

// ---- activation peak ----
//
// What a partition holds while it runs, besides its parameters.

// The most bytes of values that nodes hold at once that run in this order as one partition: what enters or
// leaves it is held all the time, other values from the node that makes them to the last that reads
// them (as core/devices/devices.h counts). A value of unknown size counts as 0 bytes. Linear in operands
// and outputs.
std::uint64_t activation_peak(const Graph& graph, std::span<const NodeId> nodes);

// ---- target spec ----
//
// A target's numbers as text, on the command line or in a support list:
//
//   acc:launch=100us,flops=4TFLOP/s,bandwidth=50GB/s,node=2us,memory=512MiB,max-subgraphs=8,
//       link=gen4x4,duplex=half,energy=2pJ/FLOP+30pJ/byte+0.1mJ/launch
//   cpu:flops=500GFLOP/s,bandwidth=50GB/s,node=1us

enum class TargetName : std::uint8_t { cpu, acc };

// The numbers that were given; the others are nullopt.
struct TargetSpec {
  TargetName target = TargetName::acc;
  std::string name = "acc";  // of the accelerator; "acc" means each
  std::optional<double> flops_per_second;
  std::optional<double> bytes_per_second;
  std::optional<double> node_us;
  std::optional<double> launch_us;  // of one partition
  std::optional<EnergyNumbers> energy;
  std::optional<std::uint64_t> memory;  // this and all below: of the accelerator only
  std::optional<std::size_t> max_subgraphs;
  std::optional<Link> link;
  std::optional<Duplex> duplex;

  bool operator==(const TargetSpec&) const = default;
};

// Refuses other texts: the error says which part is wrong and what to write.
Result<TargetSpec> parse_target(std::string_view text);

// True for the names of numbers that an accelerator can be given: "launch", "flops", ...
bool is_target_number(std::string_view name);

// Sets one number of the spec; refuses a text that is no value of it.
Status<> set_target_number(std::string_view name, std::string_view value, TargetSpec& spec);

// The machine, with the spec's numbers in place of its own. The caller handles the link.
Machine with_target(Machine machine, const TargetSpec& spec);

// ---- target times ----
//
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

// ---- calibration ----
//
// Calibration: fits the time of an op to measured kernels as a + b * FLOPs + c * bytes.
//
// Each op with enough kernels has its own numbers; all other ops share numbers fitted to all
// kernels. None of a, b, c is below 0. The error is measured by leaving models out: the numbers are
// fitted to the other models and predict the times of the one left out.

// One run of a node. Its FLOPs and bytes are known.
struct Kernel {
  std::string op;  // op_key()
  double us = 0;
  double flops = 0;
  double bytes = 0;
  std::uint32_t model = 0;  // below the number of models
};

struct LeftOutError {
  double node_factor = 1;             // half of the kernels are predicted within this factor
  std::vector<double> model_factors;  // by model: predicted time / measured time
  double model_factor = 1;            // half of the models are predicted within this factor
};

struct Calibration {
  std::vector<OpTime> times;  // sorted by op; the common numbers, op "", come first
  std::size_t kernels = 0;
  std::size_t models = 0;
  std::optional<LeftOutError> error;  // nullopt when there is only one model
};

inline constexpr std::size_t kLeastKernelsOfOp = 8;

// Ignores kernels with a time of 0 or less; without kernels there are no times. Method:
// non-negative least squares in which the square of an error is weighted by 1 / time. Linear in
// kernels; the error takes that once per model.
Calibration calibrate(const std::vector<Kernel>& kernels, std::size_t models);

}  // namespace cleave
