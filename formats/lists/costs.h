// Files of costs and profiles, matched with the nodes of a model.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/base.h"
#include "core/cost/cost.h"
#include "core/graph/graph.h"
#include "formats/base/faults.h"
#include "formats/base/files.h"

namespace cleave {

// ---- runtime names ----
//
// How runtimes rename nodes and op types.
//
// A runtime that optimises a model runs its own kernels. Some have the name of a node or of its
// output, with an addition; some have the names of all nodes that were fused into them.

// The name without the additions of runtimes (`_nchwc`, `_token_3`, `/WithoutBiases`, `fused `,
// ...).
std::string_view without_additions(std::string_view name);

// The names in a fused kernel's name, joined by " + " or ",", also inside TensorRT's `PWN(...)` and
// `{ForeignNode[...]}`. A single entry: the name is not joined.
std::vector<std::string_view> joined_names(std::string_view name);

// The two names of a TensorRT kernel that covers all nodes from one to another,
// `{ForeignNode[first...last]}`; empty for any other name.
std::vector<std::string_view> range_of_nodes(std::string_view name);

// True when a kernel with that op may do the work of a node with the other op: the same operator, a
// fused or quantised form (FusedConv, QLinearConv, MatMulInteger), or another runtime's name for
// it.
bool op_fits(std::string_view kernel_op, std::string_view node_op);

// True when runtimes often do the work of such an op inside the kernel before it: elementwise
// functions, normalisation, views.
bool is_often_fused(std::string_view node_op);

// ---- cost entries ----
//
// The contents of a cost file, before matching with a model: one entry for each kernel, layer or
// node that the file names.

enum class CostFormat : std::uint8_t {
  node_csv,     // node,time_us
  onnxruntime,  // a profile of ONNX Runtime: trace events as JSON
  openvino,     // performance counters of OpenVINO's benchmark_app, CSV or JSON
  tensorrt,     // trtexec --exportProfile
  cleave,       // cleave.costs
};

// "an ONNX Runtime profile", ...: the name in reports.
std::string_view cost_format_name(CostFormat format);

using ObservedDims = std::vector<std::int64_t>;

struct CostEntry {
  std::string name;
  std::string op = {};  // the runtime's name for it; "": not in the file
  double us = 0;        // of one run
  // Shapes of tensors at run time; a runtime may leave some inputs out. Empty: not recorded, or
  // different from run to run.
  std::vector<ObservedDims> inputs = {};
  std::vector<ObservedDims> outputs = {};
  bool is_inside = false;    // ran inside the body of a Loop, If or Scan, whose time includes it
  std::uint32_t around = 0;  // is_inside: the entry of the innermost one
  bool was_run = true;       // false: listed, but the runtime fused it into another
  std::uint64_t offset = 0;  // in the file
};

struct CostEntries {
  std::string path;
  CostFormat format = CostFormat::node_csv;
  std::vector<CostEntry> entries = {};  // in the order of the file
  std::vector<OpTime> op_times = {};    // calibrated times of ops, sorted by op: cleave.costs only
  std::size_t runs = 1;                 // each time is the median of this many
  bool has_blocked_layout = false;      // channels are padded to blocks in some of the shapes
  Diagnostics warnings = {};
};

// A runtime's profile: it covers the whole model, and fused nodes have no entry of their own.
inline bool is_profile(CostFormat format) {
  return format != CostFormat::node_csv && format != CostFormat::cleave;
}

// ---- cost file ----
//
// Reads cost files: recognises the format by content, then calls its reader.

// Reads times of nodes that people wrote down: CSV or TSV, one line per node.
//
//   node,time_us
//   conv1,120.5
//   "relu, fused",3

// Reads the profile that TensorRT's trtexec writes with --exportProfile: a JSON list, first
// {"count": N}, then one object per layer: {"name", "timeMs", "averageMs", "medianMs",
// "percentage"}.
// Source: TensorRT, samples/common/sampleReporting.cpp.

// Reads a profile that ONNX Runtime writes (SessionOptions.enable_profiling): a JSON list of trace
// events. Source: onnxruntime/core/common/profiler.cc, core/framework/sequential_executor.cc.

// One entry for each kernel, in the order in which kernels first ran. Its time is the median over
// the runs of the profile; with three runs or more the first one, which warms up, is left out.
// Kernels in bodies of Loop, If and Scan are marked: the time of the node around them includes
// theirs. Linear.
Loaded<CostEntries> read_onnxruntime_profile(const SourceFile& source);

// Reads performance counters that OpenVINO's benchmark_app writes:
//
//   benchmark_app -m MODEL -report_type detailed_counters -report_folder DIR [-json_stats]
//
// Source: openvino/tools/benchmark/utils/statistics_report.py, samples/cpp/benchmark_app.

// The CSV form: `layerName;execStatus;layerType;execType;realTime (ms);cpuTime (ms)`, one line per
// layer, then a line "Total". Times are averages over the runs.
Loaded<CostEntries> read_openvino_csv(const SourceFile& source);

// The JSON form: an object with "detailed_performance", a list of requests with their "nodes".
// Takes the mean of several requests. A file of "average" counters is read in the same way.
Loaded<CostEntries> read_openvino_json(const SourceFile& source);

// ---- cost match ----
//
// Matches the kernels of a runtime to the nodes of a model, whose names rarely agree.
//
// The first rule that finds a node wins:
//   name         the kernel has the node's name
//   output       the kernel has the name of one of the node's outputs
//   stripped     the same after removing what runtimes add to names
//   joined       the kernel has the names of several nodes, which were fused
//   prefix       the node with a fitting op and the longest common path
//   shape        only one node with a fitting op has the kernel's output shape
//   order        the runtime made the name up: the kernel ran right after a node that was found,
//                and has the output shape of a reader of that node
//
// Kernels inside the body of a Loop, If or Scan are part of its time, unless the model has them as
// nodes of its own: an If that is decided is replaced by its branch. Then they count, and the If
// does not.
//
// A node without a kernel of its own counts as fused into a neighbour's kernel if its op is one
// that runtimes fuse. The time of a kernel of several nodes is divided by their estimated costs.

// NodeNames: finds the nodes of a graph by name, and by the names of their outputs. Includes
// constants and nodes of bodies, since runtimes name them too.
class NodeNames {
 public:
  // Linear. The graph must live as long as this.
  explicit NodeNames(const Graph& graph);

  // The node, constant or body node with that name.
  std::optional<NodeId> find(std::string_view name) const;
  // The node or constant that makes the value with that name.
  std::optional<NodeId> find_maker(std::string_view value) const;
  // The node whose time includes that of `id`: itself, or the one around it; kNone for a constant.
  NodeId owner(NodeId id) const;

 private:
  std::string_view node_name(std::uint32_t id) const { return graph_.node(NodeId{id}).name; }
  std::string_view value_name(std::uint32_t id) const { return graph_.value(ValueId{id}).name; }
  void add_node(NodeId id);
  void add_outputs(NodeId id);

  const Graph& graph_;
  NameTable nodes_, values_;
  std::vector<NodeId> owners_;  // of body nodes, from first_body_ on
  std::uint32_t first_body_ = 0;
};

enum class MatchRule : std::uint8_t { name, output, stripped, joined, prefix, shape, order, none };
inline constexpr std::size_t kMatchRules = 7;  // without `none`

// "by name", "by output", ...: the name in reports.
std::string_view match_rule_name(MatchRule rule);

struct UnmatchedCost {
  std::string name;
  std::string op;
  double us = 0;
};

struct CostMatch {
  PerNode<double> us;  // below 0: the file has no time for the node
  std::size_t measured_nodes = 0;
  std::size_t fused_nodes = 0;  // of these, those without a kernel of their own
  double total_us = 0;          // of all kernels outside bodies
  double matched_us = 0;
  std::array<double, kMatchRules> us_by_rule = {};
  std::vector<UnmatchedCost> largest_unmatched = {};  // at most 10, the largest first
  std::size_t unmatched = 0;                          // kernels
  std::vector<MatchRule> rules = {};                  // by entry
  // By entry: the node that the rule found first; kNone if there is none, or it is a constant.
  std::vector<NodeId> nodes = {};

  // 1 when the file has no time at all.
  double share() const { return total_us > 0 ? matched_us / total_us : 1; }
};

// O((nodes + entries) log nodes).
CostMatch match_costs(const CostEntries& file, const Graph& graph);

// ---- observed shapes ----
//
// Shapes that a profile recorded at run time. They bind unknown dims of the model, value by value,
// give sizes to the dims of its inputs, and reveal a profile of another model or another input.

struct ObservedShape {
  ValueId value;
  ObservedDims dims;
};

// A kernel whose output or input differs from its node's in the model.
struct ShapeContradiction {
  std::uint64_t offset = 0;  // of the kernel in the file
  std::string message;
};

// The size of a dim of the model's inputs at run time. The name is what --dim takes: "batch", or
// "x:0" for an axis without a name.
struct InputDim {
  std::string name;
  std::int64_t size = 0;
};

struct ObservedShapes {
  std::vector<ObservedShape> shapes;  // of values with an unknown dim, each once
  std::vector<InputDim> dims;         // in the order of the inputs, each once
  // Dims for which kernels saw different sizes; they are not in `dims`.
  std::vector<std::string> conflicting_dims;
  std::size_t contradicted = 0;  // kernels with another shape than the model
  // The first contradiction, if the profile is of another model or another input: an input of the model
  // differs, or kernels with over a tenth of the compared time do. A runtime that rewrites a few
  // nodes and keeps their names stays below that.
  std::optional<ShapeContradiction> contradiction;
};

// Shapes and contradictions come from kernels matched by the node's name or its output's, with the
// node's op: others may be fused and have other outputs. Dims of inputs come also from kernels with
// additions to these names, if the kernel's op fits that of a node that reads an input. Dims in
// another order than the model's (a runtime may change layouts) and channels padded to blocks are
// no contradiction, and bind no dim. Linear.
ObservedShapes observe_shapes(const CostEntries& file, const CostMatch& match, const Graph& graph);

// ---- model costs ----
//
// The costs of a model's nodes from files: read, matched, and checked against the model.

// The costs that one file has for a model.
struct ModelCosts {
  std::string path;
  CostFormat format = CostFormat::node_csv;
  std::size_t runs = 1;
  std::size_t kernels = 0;  // that ran outside bodies
  CostMatch match;
  std::vector<ObservedShape> shapes;
  std::vector<InputDim> dims = {};  // of the model's inputs, as the profile saw them
  std::size_t used_nodes = 0;       // nodes whose time no file before this one has
  std::size_t contradicted = 0;  // kernels whose shapes differ from the model's and were left out
  std::vector<OpTime> op_times = {};  // calibrated, sorted by op
  Diagnostics warnings = {};          // names in a hand-written file that are not nodes
};

// Refuses files that are not cost files, and files of another model: one that names no node of this
// model, or a profile whose shapes contradict the model ("observed shapes" above).
Loaded<ModelCosts> read_model_costs(const SourceFile& source, const Graph& graph);

// ---- cost set ----
//
// All cost files that a command was given for a model.

// The device whose times a file has.
enum class CostTarget : std::uint8_t { cpu, acc };

// --costs [TARGET=]FILE
struct CostSource {
  CostTarget target = CostTarget::cpu;
  std::string path;
  std::size_t which = 0;  // of several targets
};

// Parses "p.json", "acc=p.json", or "npu=p.json" where npu is one of `targets`. If the part before "="
// is not a target, the whole text is a path.
CostSource cost_source_of(std::string_view text, std::span<const std::string> targets = {});

// A file of --costs that was opened.
struct OpenCosts {
  CostTarget target = CostTarget::cpu;
  SourceFile file;
  std::size_t which = 0;  // of several targets
};

// The files of one of several targets, but for the first.
struct TargetCosts {
  std::vector<ModelCosts> files;
  PerNode<double> us;
  std::vector<OpTime> ops;
};

struct CostSet {
  std::vector<ModelCosts> cpu, acc;      // one a file, in the order given
  PerNode<double> cpu_us, acc_us;        // merged; below 0: not measured; empty: there is no file
  std::vector<OpTime> cpu_ops, acc_ops;  // calibrated, of the first file that has any
  std::vector<ObservedShape> inferred = {};  // follow from the dims of inputs that the files saw
  Diagnostics warnings = {};
  std::vector<TargetCosts> later = {};  // of several targets: those after the first, which is `acc`

  bool empty() const { return cpu.empty() && acc.empty() && later.empty(); }
};

// The times of nodes on a machine, and the time of profiles that no node includes. Estimates beside
// a profile of the whole model share what it leaves.
struct MeasuredTargets {
  TargetTimes times;
  UnmatchedTime cpu_unmatched = {};
  UnmatchedTime acc_unmatched = {};
};
// `later`: of several targets, with the others instead of the first.
MeasuredTargets measured_targets(const Graph& graph, const Machine& machine, const CostSet& costs,
                                 std::span<const Machine> later = {});

Loaded<std::vector<OpenCosts>> open_costs(std::span<const CostSource> sources);

// Reads the files. Refuses all of them when one cannot be read, or belongs to another model.
Loaded<CostSet> read_cost_set(std::span<const OpenCosts> files, const Graph& graph);
Loaded<CostSet> read_cost_set(std::span<const CostSource> sources, const Graph& graph);

// Shapes of values that have unknown dims in the model: those in `inferred`, else those that the
// files saw at run time. Passes get the graph with them. A written model must fit any input, so
// writers get the model, whose graph has the declared shapes.
ShapeOverlay observed_shapes(const CostSet& costs);

// ---- costs json ----
//
// cleave.costs: times as JSON, version 1: measured ones of nodes, calibrated ones of ops, or both.
// The time of an op is us + us_per_flop * FLOPs + us_per_byte * bytes; "" is every op without an
// entry.
//
//   {"format": "cleave.costs", "version": 1,
//    "nodes": [{"name": "conv1", "time_us": 120.5}],
//    "ops": [{"op": "conv", "us": 4.1, "us_per_flop": 2e-5, "us_per_byte": 0}]}

struct NamedTime {
  std::string name;
  double us = 0;
};

// The text of such a file.
std::string costs_json(const std::vector<NamedTime>& nodes, const std::vector<OpTime>& ops);

}  // namespace cleave
