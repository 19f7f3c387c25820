// What is measured of a split: bytes, rates, times, outcomes, views, what is worth it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/base.h"
#include "core/base/quantity.h"
#include "core/cost/cost.h"
#include "core/graph/graph.h"
#include "core/lists/condition.h"
#include "core/lists/support.h"
#include "core/split/options.h"
#include "core/split/split.h"

namespace cleave {

// ---- preview ----
//
// Preview: the numbers of a split: bytes over the link, the QPS that they bound, coverage. No text.

// A boundary value that the numbers leave out or that may cause trouble in lowering.
struct Hazard {
  enum class Kind : std::uint8_t { non_tensor_input, non_tensor_output, unknown_bytes };
  Kind kind;
  ValueId value;
};

struct PartNumbers {
  std::uint64_t input_bytes = 0;  // tensors of known size; a value counts once
  std::uint64_t output_bytes = 0;
  std::uint64_t parameter_bytes = 0;
  double flops = 0;               // of the nodes whose FLOPs are known
  std::size_t unknown_flops = 0;  // nodes whose FLOPs are unknown
  std::optional<double> qps;      // accelerator parts that the link bounds: bw / max(in, out)
  std::vector<Hazard> hazards;    // accelerator parts only, inputs first
};

// True when a tensor that crosses between the part and the rest has unknown size.
bool has_unknown_bytes(const PartNumbers& numbers);

// acc / total; the ratio is 1 when the total is 0.
struct Coverage {
  double acc = 0;
  double total = 0;
  double ratio() const { return total > 0 ? acc / total : 1.0; }
};

// The FLOPs of the nodes whose FLOPs are known, and of how many they are.
struct FlopsCoverage : Coverage {
  std::size_t computing = 0;  // nodes of known FLOPs, not 0
  std::size_t unknown = 0;    // nodes without known FLOPs
  std::size_t inside = 0;  // nodes in the bodies of these: an undecided If may hold all of a model

  // False where the FLOPs of most nodes that compute are unknown: the share of the others would mislead. Nodes
  // without known FLOPs count as computing, those of 0 FLOPs, such as a Reshape, do not.
  bool are_known() const { return unknown + inside <= computing; }
  // True where they are known and not 0.
  bool have_share() const { return total > 0 && are_known(); }
};

// The inferences per second that the link allows. In reality parts share one link: `shared_qps` is
// bw / max(sum in, sum out); half-duplex links add in and out instead of taking the larger.
struct LinkBound {
  double max_qps = 0;  // the least over the parts
  PartId bottleneck = kNone<PartId>;
  double max_qps_half_duplex = 0;
  double shared_qps = 0;
  double shared_qps_half_duplex = 0;
};

// The share of the model in some nodes.
struct Coverages {
  Coverage nodes;
  FlopsCoverage flops;
  Coverage parameter_bytes;  // acc: what nodes read, also through constants; total: all of the
                             // file, and constants that read nothing. Aliases count once.
  std::uint64_t model_parameter_bytes = 0;
  std::vector<NodeId> unknown_flops_ops;  // the first node of each op type without known FLOPs
};

// What one of several devices has.
struct DeviceNumbersOfSplit {
  std::size_t parts = 0;
  std::size_t nodes = 0;
  double flops = 0;  // of nodes whose FLOPs are known
  std::size_t unknown_flops = 0;
  std::uint64_t parameter_bytes = 0;  // each once, however many of its parts read it
  std::optional<double> qps = {};     // that its link allows; nullopt: no part of it is bound
  bool has_unknown_bytes = false;     // a tensor that crosses its link has no known size

  bool is_work_known() const { return flops > 0 || unknown_flops == 0; }
};

// The devices of a split for several targets: the targets, and last the CPU.
struct DevicesOfSplit {
  std::vector<DeviceNumbersOfSplit> devices = {};
  // From one device to another, row by row: values that one makes and the other reads, once for each
  // accelerator part that reads them, and once for the CPU, which also makes the model's inputs and
  // reads its outputs. Tensors of known size.
  std::vector<std::uint64_t> bytes = {};
  std::vector<bool> has_unknown = {};  // the same: the bytes leave out a tensor of unknown size

  bool are_bytes_known(std::size_t from, std::size_t to) const {
    return !has_unknown[from * devices.size() + to];
  }
  std::uint64_t bytes_between(std::size_t from, std::size_t to) const {
    return bytes[from * devices.size() + to];
  }
};

struct Preview {
  Link link;
  PerPart<PartNumbers> parts;
  std::optional<LinkBound> bound;  // nullopt when the link bounds no accelerator part
  Coverages coverage;              // of the nodes in accelerator parts
  DevicesOfSplit by_device = {};   // empty where there is one accelerator
};

// Whether the file has the bytes of a parameter: no node makes it, or one that reads nothing, as ONNX's
// Constant.
bool is_in_file(const Graph& graph, ValueId parameter);

// Linear. A parameter that both sides read counts as the accelerator's.
Coverages cover(const Graph& graph, const NodeSet& acc);

// Linear. Method: FX splitter, split_preview; the shared-link and half-duplex bounds are ours. With
// several targets, each with its own link, linear for each.
Preview preview_split(const Graph& graph, const Partition& partition, const Boundaries& boundaries,
                      const Link& link, std::span<const Target> targets = {});

// ---- measures ----
//
// Measures: the few numbers of a split that gates and comparisons use, independent of any graph.

// One of several targets: its share of the model.
struct TargetMeasures {
  std::string name;
  Coverage nodes;
  Coverage flops;
  Coverage parameter_bytes;
  std::size_t parts = 0;
};

struct Measures {
  Coverage nodes;
  FlopsCoverage flops;  // where they are not known, neither is the share of a target
  Coverage parameter_bytes;
  std::size_t acc_subgraphs = 0;
  std::size_t cpu_nodes = 0;
  // in and out of accelerator parts, of the tensors with known sizes
  std::uint64_t boundary_bytes = 0;
  bool is_boundary_known = true;  // every tensor that enters or leaves one has a known size
  // That the link allows when all parts share it; nullopt: it bounds no accelerator part.
  std::optional<double> qps = {};
  bool has_link = true;                   // false: the lists say that their device has none
  std::optional<double> latency_us = {};  // of one inference; nullopt: unknown
  std::optional<double> all_cpu_us = {};  // without an accelerator; nullopt: unknown
  // Of profiles' kernels that match no node; both figures may lack up to the CPU's.
  double cpu_unmatched_us = 0;
  double acc_unmatched_us = 0;
  std::vector<TargetMeasures> targets = {};  // of several, in the order in which they are asked

  // False: of no tensor that enters or leaves an accelerator part is the size known.
  bool is_any_boundary_known() const { return boundary_bytes > 0 || is_boundary_known; }
};

// Linear.
Measures measure(const Partition& partition, const Preview& preview,
                 std::span<const Target> targets = {});

// Tensors of the graph (inputs and outputs of nodes) whose rank, or the size of a dim, is unknown,
// in the order of their ids. A symbolic dim is unknown. Linear.
std::vector<ValueId> values_of_unknown_shape(const Graph& graph);

// ---- inference time ----
//
// InferenceTime: the time of one inference of a split, with and without residency, compared with
// the best placement that a search finds.

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

// ---- open sizes ----
//
// Numbers of a split that depend on dims without a size, as polynomials of these dims.
//
//   input x: float32[N,3,H,W]      FLOPs 108*N*H*W + 2048*N, bytes into the first part 12*N*H*W

struct OpenNumber {
  double at_first = 0;                   // at the first sizes of the grid
  std::optional<Polynomial> exact = {};  // nullopt: it is no polynomial of degree 3 at most
  bool is_partial = false;               // something in it stays unknown, and is left out
};

struct OpenPart {
  OpenNumber flops, input_bytes, output_bytes;
};

struct OpenSizes {
  std::vector<std::string> names;  // of the open dims: a symbol, or "x[1]" where a dim has no name
  SampleGrid grid;                 // the sizes that were tried
  // The polynomials hold at the grid's sizes, and not between them: a stride divides sizes and rounds.
  bool is_for_steps = false;
  // Dims for which only this size fits the model.
  std::vector<std::pair<std::string, std::int64_t>> pinned = {};
  std::vector<std::optional<double>> node_flops = {};  // at the first sizes, by node
  OpenNumber flops;
  OpenNumber acc_flops = {};                    // of a split
  std::optional<PerPart<OpenPart>> parts = {};  // of a split
};

// ---- runtime groups ----
//
// The partitions that a runtime makes of the nodes that a provider takes, in the graph that it shows to
// providers, for lists that are about that graph (SupportList::view).

struct RuntimeGroups {
  std::size_t nodes =
      0;  // of the runtime's main graph; a node with a body of ONNX counts as its body's nodes
  std::size_t accepted = 0;  // of these
  std::size_t partitions = 0;
};

// Whether some list is about a runtime's graph.
bool are_about_runtime(std::span<const SupportList> lists);

// `supported`: what the lists accept of the model's nodes. Method: a group grows as long as nodes that the
// provider takes are ready (ONNX Runtime's CreateSupportedPartitionNodeGroups), so that a node is in the group
// after as many changes from the provider to others as the longest way to it has. nullopt where no list is about
// a runtime's graph. As linear as matching the lists.
std::optional<RuntimeGroups> runtime_groups(const Graph& graph, const NodeSet& supported,
                                            std::span<const SupportList> lists,
                                            const OpFacts& facts);

// ---- outcome ----
//
// Outcome: a few numbers of splits that can be summed over models, and which of two outcomes is
// better for a goal.

struct ModelToSplit {
  const Graph& graph;
  const OpFacts& facts;
  const TargetTimes* times = nullptr;  // null: by the machine's rates
  const NodeSet* required = nullptr;   // as in SplitInput
  FoundPlacements* found = nullptr;    // as in SplitInput
  // The graph with sizes in place of open dims, for bytes and FLOPs; null: none is open, or no sizes are known.
  const Graph* sized = nullptr;

  const Graph& measured() const { return sized != nullptr ? *sized : graph; }
};

// The numbers of splits, summed over the models.
struct Outcome {
  std::size_t acc_subgraphs = 0;
  std::size_t subgraphs = 0;
  std::uint64_t link_bytes = 0;    // in and out of accelerator subgraphs
  double link_seconds = 0;         // of each model's bottleneck; 0: the link bounds no model
  double shared_link_seconds = 0;  // when all subgraphs of a model share the link
  std::size_t unknown_bytes = 0;   // values over the link that are left out for their unknown size
  double latency_us = 0;           // of one inference of each model whose latency is known
  std::size_t unknown_latencies = 0;  // models
  std::size_t supported = 0;          // nodes that the lists accept
  Coverage nodes;
  FlopsCoverage flops;
  std::size_t required_on_cpu = 0;  // nodes of ModelToSplit::required

  void add(const Outcome& other);
  // Inferences per second when every model runs once for each; nullopt when the link bounds no
  // model.
  std::optional<double> qps() const;
  std::optional<double> shared_qps() const;
  // Microseconds of one inference of every model; nullopt when the latency of a model is unknown.
  std::optional<double> latency() const {
    return unknown_latencies > 0 ? std::nullopt : std::optional(latency_us);
  }
};

// The numbers of one split, whose preview this is, without its latency: that needs times.
Outcome outcome_of(const Split& split, const Preview& preview);
// The same with the latency, where the model has times. `machine`: of the one accelerator, or the first
// of several.
Outcome outcome_of(const ModelToSplit& model, const Split& split, const Preview& preview,
                   const SplitOptions& options, const Machine& machine);

// What split_graph takes to split the model. `lists` must outlive it.
SplitInput split_input_of(const ModelToSplit& model, const std::vector<SupportList>& lists,
                          const Link& link);

struct SplitOutcome {
  Outcome outcome;
  NodeSet supported;                        // the nodes that the lists accept
  std::vector<std::size_t> acc_sizes = {};  // of accelerator subgraphs, before any was merged
  std::vector<double> acc_work = {};  // FLOPs of each accelerator subgraph; nodes if none are known
  Partition partition = {};
};

// Splits the model and keeps the numbers. Refuses what split_graph refuses.
Result<SplitOutcome> split_outcome(const ModelToSplit& model, const std::vector<SupportList>& lists,
                                   const SplitOptions& options, const Link& link);

enum class Goal : std::uint8_t {
  subgraphs,  // fewest accelerator subgraphs
  bytes,      // fewest bytes over the link
  qps,        // most inferences a second over the link; when equal, if all subgraphs share it
  flops,      // most FLOPs on the accelerator; most nodes where no FLOPs are known
  latency,    // least time of an inference
};

// The goal of a next step: most work as long as the accelerator has next to none, since no work at all has the
// fewest subgraphs and bytes.
Goal goal_from(const Outcome& now, Goal goal);

// True when `a` is better for the goal; when both are equal, by the other goals in their order,
// then by nodes on the accelerator.
bool is_better(const Outcome& a, const Outcome& b, Goal goal);
// The same of what each addition gains, where `a` takes more of them than `b` to get there from `now`.
bool gains_more(const Outcome& a, std::size_t additions_a, const Outcome& b,
                std::size_t additions_b, const Outcome& now, Goal goal);

// ---- views ----
//
// Views: a large graph as a tree of drawings that are small enough to look at.
//
// A view is one drawing of boxes; a box is a node, or a group of nodes that is a view itself. The
// first view is the whole model. Nodes are grouped by part, then by scope, one component at a time,
// and by runs of the model order when neither separates them. Where there are more parts than boxes
// in a view, and most nodes have a scope, they are grouped by scope first.
//
//   model                      5,000 nodes in 3 parts: a box each
//   `- _run_on_acc_1           4,990 nodes: boxes layer1, layer2, ..., and nodes of no scope
//      `- layer1               64 nodes: a box each

enum class ViewId : std::uint32_t {};

// One of the two is kNone.
struct ViewBox {
  NodeId node = kNone<NodeId>;
  ViewId view = kNone<ViewId>;
};

struct View {
  // a part's name, a scope, "a to b", "nodes 1 to 80"; the model's name for the first view
  std::string title;
  ViewId parent = kNone<ViewId>;
  std::uint32_t first = 0;  // its nodes: [first, last) of Views::order
  std::uint32_t last = 0;
  std::vector<ViewBox> boxes;  // empty: beyond the number of views asked for, and not opened

  std::size_t node_count() const { return last - first; }
};

struct Views {
  std::vector<View> views;  // parents before children
  // the nodes of a view are consecutive; those of a box are in model order
  std::vector<NodeId> order;
  // the view that has the node as a box, or the unopened view that contains it
  PerNode<ViewId> view_of;

  const View& operator[](ViewId view) const { return views[index(view)]; }
  std::span<const NodeId> nodes(ViewId view) const {
    const View& of = views[index(view)];
    return std::span(order).subspan(of.first, of.last - of.first);
  }
};

struct ViewOptions {
  std::size_t most_boxes = 80;   // in a view; at least 2
  std::size_t most_views = 400;  // that are opened
};

// O(nodes x depth of the tree). The depth is bounded by that of the scopes, of which the first 64
// components count, plus the logarithm of the nodes to base `most_boxes`.
Views make_views(const Graph& graph, const Partition& partition, const ViewOptions& options);

// ---- same shape ----
//
// Same shape: finds partitions that compute the same except for names and weights, such as the
// blocks of a network. Compiling one of them is enough.
//
// Two partitions have the same shape when their nodes can be paired so that op, attributes, wiring,
// dtypes and shapes agree, and so do the dtypes and shapes of inputs, outputs and parameters. The
// contents of parameters and constants are ignored. Results are certain: equal hashes are verified.
// They are not complete: sameness is not claimed for a partition whose nodes are alike but wired
// differently (a symmetric graph), nor for nodes with bodies or with attributes other than numbers
// and strings.

struct SameShapes {
  PerPart<PartId> like;  // the first part of the same shape; the part itself if it is the first
  std::size_t acc_parts = 0;
  std::size_t distinct = 0;  // among accelerator parts
};

// Compares accelerator parts; a CPU part is only like itself. Linear, plus sorting the nodes of
// each part.
SameShapes find_same_shapes(const Graph& graph, const Partition& partition,
                            const Boundaries& boundaries);

// ---- worth ----
//
// WorthVerdict: whether a split is worth it, from criteria with stated thresholds.
//
// With times there is one criterion, the time of an inference against the CPU alone. Without times
// there are three: the share of the work on the accelerator, the number of accelerator partitions
// against the work in them, and the work for each byte that crosses the link. The worst of them
// decides. One partition with three quarters of the model is a yes for ONNX Runtime's usability
// checker, too, and two are a maybe; it counts nodes only, so that it says no to three partitions of
// 13 GFLOP each, and yes to one with less work than the call of it costs.

enum class Worth : std::uint8_t { yes, maybe, no };

struct WorthCriterion {
  enum class Kind : std::uint8_t {
    speedup,     // the time on the CPU alone, divided by that of the split
    work,        // share on the accelerator
    partitions,  // on the accelerator: each is a call, with transfers to it and back
    intensity,   // FLOPs on the accelerator for each byte that crosses the link
  };
  Kind kind;
  double value = 0;
  double yes = 0;    // `value` is at least this, of partitions at most
  double maybe = 0;  // the same
  Worth answer = Worth::no;
};

// What the criteria count as work.
enum class WorkBasis : std::uint8_t {
  flops,           // all are known
  flops_at_first,  // at the first sizes of open dims; unknown are the accelerator's at most
  nodes,           // other FLOPs are not known, or nothing has any
  times,           // nothing: times are known
};

struct WorthVerdict {
  Worth answer = Worth::no;
  WorkBasis basis = WorkBasis::times;
  double acc_work = 0;       // FLOPs or nodes
  bool is_at_least = false;  // some FLOPs of the accelerator are not known
  double call_work = 0;      // what a CPU computes in the time of one call of the accelerator
  std::vector<WorthCriterion> criteria;  // at least one
  // Nodes that the lists refuse for the model's opset alone, where these are half of the CPU's and the criteria say
  // no. Whether the device takes them was not measured, so the answer is a maybe; else 0.
  std::size_t other_opset = 0;
  // The same of nodes whose rules fail while sizes of their tensors are open.
  std::size_t open_sizes = 0;
  // The same of nodes that ONNX Runtime takes out of the graph before it asks a provider (an Identity), of lists about
  // the model's own graph.
  std::size_t merged = 0;
  // The op that alone keeps most of the CPU partitions from joining the accelerator partitions around
  // them, as op_text() has it, and how many partitions; "" if there is none. Of a node that a runtime replaces
  // by its body it is the op in there.
  std::string blamed;
  std::size_t blamed_partitions = 0;
};

// The nodes on the CPU, and those of them that the lists refuse without a measurement. A list without rules for the
// model's opset says nothing of its nodes, and a rule that asks for a size says nothing of an open one.
struct UnmeasuredNodes {
  std::size_t on_cpu = 0;
  std::size_t other_opset = 0;  // refused for the opset alone
  std::size_t open_sizes = 0;   // of the others: a rule fails, and a size of their tensors is open
};
UnmeasuredNodes unmeasured_nodes(const Graph& graph, const Split& split,
                                 std::span<const SupportList> lists, const OpFacts& facts);

// What there is to judge.
struct WorthCase {
  const Graph& graph;
  const Split& split;
  const Preview& preview;
  std::span<const SupportList> lists =
      {};  // with `facts`: what bodies lack that a runtime makes of nodes
  const OpFacts& facts;
  const InferenceTime* time = nullptr;  // null: there is none
  const OpenSizes* sizes = nullptr;  // of the open dims, with the split's parts; null: none is open
  std::optional<double> launch_us = {};  // of a call of the accelerator, where it is stated
};

// nullopt for a model without nodes. Linear.
std::optional<WorthVerdict> judge_worth(const WorthCase& of);

// ---- option trials ----
//
// Option trials: which one option of a split would change most, each tried by a split made with it.
//
//   now                        66 accelerator subgraphs
//   --fold write               34
//   --min-acc-module-size 2    60

struct OptionTrial {
  enum class Kind : std::uint8_t {
    fold,   // nodes that compute what is known become constants
    opset,  // rules are asked as if the model were of a newer opset
    extend,
    host_shapes,
    allow_non_tensor,
    skip_fusion,
    move_non_tensor,
    keep_qdq,
    start,
    min_acc_size,
    place_by_cost,
    keep,        // the most valuable accelerator subgraphs only
    as_runtime,  // lists are asked about the graph that ONNX Runtime makes
  };
  Kind kind = Kind::fold;
  std::size_t min_acc_size = 0;  // of that kind
  std::size_t most_kept = 0;     // of the kind keep
  std::int64_t opset = 0;        // of that kind
  Outcome then = {};
  bool gains = false;  // see try_options()
};

struct OptionTrials {
  Outcome now;
  std::vector<OptionTrial> trials;  // the best first

  // The best trial; null when none gains.
  const OptionTrial* best() const {
    return trials.empty() || !trials.front().gains ? nullptr : &trials.front();
  }
};

// Tries each option that `options` does not have. `folded` are the models with known nodes folded;
// empty: folding is not tried.
//
// A trial gains when it takes at least 3% less time, where times are known. Else it must not take more
// than 1% of the accelerator's work off it, and must bring 10% of the work to it, or give fewer
// accelerator subgraphs, or as many and 5% fewer bytes over the link. The best is by the same: less
// time; else who brings work first, then fewest subgraphs, bytes, and most nodes on the accelerator.
// None gains that takes required nodes off the accelerator. Refuses what split_graph refuses.
//
// A newer opset is tried where rules fail on the opset alone: the lowest that such a rule takes, the
// four newest of them. The nodes stay as they are, so an operator that a converter writes in another way
// counts as it is. Placement by cost is tried where all times are known. Of accelerator subgraphs, those are
// kept that have 99% of the work, and one more. Minimum sizes are tried from the smallest on, as long as
// work stays. Where ONNX Runtime takes refused nodes out of the graph, the lists are asked about that graph.
//
// Cost: one split a model for each trial, of which there are at most 40.
Result<OptionTrials> try_options(std::span<const ModelToSplit> models,
                                 std::span<const ModelToSplit> folded,
                                 const std::vector<SupportList>& lists, const SplitOptions& options,
                                 const Link& link);

}  // namespace cleave
