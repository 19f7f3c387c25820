// Stages of a pipeline: boundaries, assignments, the balance problem of a graph, training.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/base.h"
#include "core/base/quantity.h"
#include "core/graph/graph.h"
#include "core/split/options.h"
#include "core/split/split.h"
#include "core/stages/balance.h"

namespace cleave {

// ---- stages ----
//
// Stages of a pipeline: where the model's order is cut, and the resulting parts.
//
//   a b | c d | e      cuts are between nodes, so that every stage only needs earlier ones
//
// A cut comes from a *marker*, a node `pippy._pipe_split` that computes nothing and vanishes; from a
// node's name; or from the name of a *scope*, the dotted path of the module that nodes came from.

// The calls of a module.
//
// A module may be called several times. A new *call* of a scope begins where data that has left the
// scope comes back into it, at each node that is a call of the module itself, and where the scope
// has another call number: torch.export writes `layer@1` for the second call of `layer`. The scope
// `layer` includes all its calls.

struct ScopeCall {
  NodeId first, last;
};

// The calls of a scope in model order; none when no node is in it. Linear.
std::vector<ScopeCall> find_calls(const Graph& graph, std::string_view scope);

// True for a node whose op is pippy's pipe_split in any spelling: `pippy._pipe_split`,
// `torch.ops.pippy._pipe_split.default`, `pippy::_pipe_split`, op `_pipe_split` of domain `pippy`.
bool is_stage_marker(const Graph& graph, NodeId node);
bool has_stage_markers(const Graph& graph);

// A cut before the first or after the last node of each call of a scope (ScopeCalls),
// including the scopes inside it; or of one call only.
struct ScopeCut {
  enum class Side : std::uint8_t { begin, end };
  enum class Calls : std::uint8_t { every, first, last };
  std::string scope;
  Side side = Side::begin;
  Calls calls = Calls::every;
};

// A cut before or after a node.
struct NodeCut {
  std::string node;
  ScopeCut::Side side = ScopeCut::Side::begin;
};

struct CutOptions {
  std::vector<ScopeCut> at;
  std::vector<NodeCut> at_nodes = {};
  // cuts between the child scopes of this one; "": of the model
  std::optional<std::string> between = {};
};

// The stage of each node; numbers need not be dense, and a marker may have any.
struct StageNumbers {
  PerNode<std::uint32_t> stage_of;
  std::vector<std::string> notes;  // cuts that make no stage
};

// Cuts at markers, scopes and nodes. Cuts at one place count once; a cut before the first node or
// after the last makes no stage. Refuses a scope without nodes, naming its longest prefix that has
// some; a node that the model does not have; and a marker whose output is read. Linear for each
// scope and node given.
Result<StageNumbers> cut_stages(const Graph& graph, const CutOptions& options);

// The stages as parts, in order. Stages without nodes are left out; markers are in no part. `names`
// is by stage number, or empty: `submod_pp_<i>`, counted without those left out. No node reads what
// a later stage makes. Linear.
Partition form_stages(const Graph& graph, const PerNode<std::uint32_t>& stage_of,
                      std::span<const std::string> names = {});

// Stages by parameter count: fills a stage until it holds more than its share, then starts the
// next. When a node reads from an earlier stage, everything in between joins that stage.
//
//   share 4:  a(3) b(2) | c(1) d(3) ...      d reads a and c: c joins the stage of a, and d too
struct AutoShards {
  PerNode<std::uint32_t> stage_of;
  std::uint32_t count = 0;    // may be less than asked for, and often is
  std::uint64_t share = 0;    // elements of all parameters // stages asked for
  std::uint64_t largest = 0;  // parameters of the fullest stage
};

// A parameter, under all its names, counts once, where it is first used. A parameter of unknown
// shape counts 0. O(n log stages). Method: FairScale auto_shard, which counts per module.
AutoShards shard_by_parameters(const Graph& graph, std::uint32_t stages);

// ---- stage boundary ----
//
// Boundaries of pipeline stages: parameters that several stages use, and values that skip stages.
//
//   stages:     0: w a      1: b      2: w c(a)
//   replicate:  0 and 2 each hold w               transmit:  0 holds w and passes it to 2
//   direct:     0 sends a straight to 2           relay:     0 sends a to 1, which sends it to 2

// Parameters of which several parts hold a copy: training must keep the copies equal.
struct SharedParameter {
  ValueId parameter;                               // canonical
  std::vector<std::pair<PartId, ValueId>> copies;  // parts in call order, with its name there
};

// The shared parameters in the order of the parameters; aliases are one parameter. Linear in what
// parts hold.
std::vector<SharedParameter> find_shared_parameters(const Graph& graph,
                                                    const Boundaries& boundaries);

enum class Sharing : std::uint8_t { replicate, transmit };

struct StageBoundaryOptions {
  Sharing sharing = Sharing::replicate;
  std::vector<std::pair<std::string, Sharing>> sharing_of;  // by parameter's name, any name of it
  bool relay = false;
};

// The cost of values needed two or more stages further on, for both ways, whichever was chosen.
struct SkipCosts {
  std::size_t values = 0;
  std::size_t unknown_sizes = 0;     // of those values; the bytes below leave them out
  std::size_t direct_transfers = 0;  // a value is sent once to each stage that reads it
  std::size_t relay_transfers = 0;   // a value is sent from stage to stage up to its last reader
  std::uint64_t direct_bytes = 0;    // of tensors of known size
  std::uint64_t relay_bytes = 0;
};

struct StageBoundaries {
  Boundaries stages;  // of each stage as a model of its own
  // the same with values sent straight to their readers: for one model that calls all stages
  Boundaries root;
  Boundaries copying;  // the same with every parameter copied: for a root that holds all parameters
  SkipCosts skips;
  std::vector<std::string> notes;  // parameters that could not be transmitted, or that no node uses
};

// Refuses a name in `sharing_of` that no parameter has, and relays beyond 2^26 transfers. Linear in
// nodes, edges and the size of the lists.
Result<StageBoundaries> find_stage_boundaries(const Graph& graph, const Partition& partition,
                                              const StageBoundaryOptions& options);

// ---- assignment ----
//
// Splits by a given node -> part map: a policy computed elsewhere, put into an order that runs.
//
//   a:0 -> b:1 -> c:0     part 0 needs part 1, which needs part 0: a cycle, refused
//   a:0 -> b:1 -> c:2     0, 1, 2

// Parts in the order in which their first nodes appear in the model; none is empty.
struct Assignment {
  PerNode<PartId> part_of;
  std::vector<std::string> names;  // by PartId
};

// Returns the parts in call order. Unless they keep their order of first appearance, roots are
// taken from the end of the list of ready parts, and parts that become ready are appended to it.
// Refuses parts that form a cycle, with one node edge for each step; when the order of appearance is
// kept, a part that needs a later one; and parts that divide a set of `ties`. Linear. Method: FX,
// split_module.
Result<Partition> order_parts(const Graph& graph, const Assignment& assignment,
                              const AssignmentOptions& options, const NodeTies& ties = {});

// ---- problem of graph ----
//
// The balance problem of a graph: its nodes are the items, in model order.
//
//   time         measured (the file's `cost` fields, or a table from elsewhere), else by the
//                roofline: a device computes or moves data, whichever takes longer, max(flops /
//                device_flops, bytes / device_bandwidth); if only some nodes were measured, the
//                others' estimates are scaled to them
//   transfers    bytes of a tensor / link_bandwidth; a tensor of unknown size is free, and counted
//   memory       parameters and constants that the file has for a node, also those behind constants that
//                compute on them; one that several nodes read is shared. Activations are the tensors that
//                nodes make, and the graph's inputs
//
// Markers of stages (core/stages/stages.h) cost 0 and stay with a node next to them. Ties are kept:
// sets of nodes stay together, and what must run first is in the same stage or an earlier one.
//
// When balancing by anything but time, transfers have no comparable unit: they cost 0.

enum class BalanceBy : std::uint8_t {
  time,    // microseconds
  flops,   // floating-point operations
  params,  // elements of parameters; a shared one counts for its first reader
  bytes,   // that nodes read and write
  nodes,
};

struct GraphCostOptions {
  BalanceBy by = BalanceBy::time;
  double device_flops = 10e12;      // per second, of a device of speed 1
  double device_bandwidth = 100e9;  // bytes per second, to its own memory
  double link_bandwidth = default_link().bytes_per_second;
  double optimizer_factor = 1;  // bytes held for each byte of a parameter
  // Microseconds by node, below 0 when not measured; null: no table. Takes precedence over the
  // file's own.
  const PerNode<double>* measured = nullptr;
  const NodeTies* ties = nullptr;  // null: data alone orders the nodes
  bool keeps_blocks = false;       // nodes of one block_of() stay together
};

// The block of a node's scope: up to the first number, "model.layers.3" of "model.layers.3.mlp.up", or else up to the
// first name that ends in one, "layer1" of "layer1.conv". A scope without both is itself one; "": the model's own.
std::string_view block_of(std::string_view scope);

struct GraphBalance {
  BalanceProblem problem;         // without devices; refers to the graph for names
  std::size_t measured = 0;       // nodes whose time was measured
  std::size_t scaled = 0;         // nodes whose estimate was scaled to these (core/cost/cost.h)
  double measured_share = 0;      // of all times that are balanced
  std::size_t unknown_costs = 0;  // nodes without any known cost: they cost 0
  // Nodes whose time is that of their bytes alone, since their FLOPs are not known, or the other way round; and
  // the first of them.
  std::size_t partial_costs = 0;
  NodeId first_partial = kNone<NodeId>;
  std::size_t unknown_sizes = 0;  // tensors between nodes whose bytes are unknown: 0
};

// Linear in nodes, and in what they read through constants. The graph must live as long as the problem.
GraphBalance balance_problem_of(const Graph& graph, const GraphCostOptions& options);

// ---- training ----
//
// Training a pipeline: the backward pass of its stages, and the schedules of a step.

// The backward pass of a pipeline: which stages are called backwards, in which order, and how
// gradients of a value that several stages read are added.
//
//   forward:    0: x -> a     1: a -> b     2: a b -> loss
//   backward:   2: -> grad a, grad b    1: grad b -> another grad a    both are added    0: ...

// The n-th gradient that is computed.
enum class GradientId : std::uint32_t {};

// Calls a stage backwards: it returns a gradient for each of its inputs, in their order.
struct StageBackward {
  PartId stage;
  std::vector<GradientId> output_gradients;  // by output of the stage; kNone: it has no gradient
  // positions of the outputs that the loss needs
  std::vector<std::uint32_t> outputs_with_gradients;
  GradientId first;  // of the first input; the others follow
};

// Adds two gradients of a value, either of which may turn out to be null.
struct AccumulateGradient {
  ValueId value;
  GradientId before;  // kNone: null
  GradientId more;
  GradientId sum;
};

struct BackwardPlan {
  ValueId loss;
  std::vector<std::variant<StageBackward, AccumulateGradient>> steps;
  std::vector<ValueId> value_of;  // by gradient
};

// Backward steps of the stages that the loss depends on, last stage first. A further gradient of a
// value is added to the one before, unless the value is an input of the graph, which keeps the last
// one. Refuses a loss that no stage makes. Linear. Method: PiPPy, _insert_stage_symbolic_backward.
Result<BackwardPlan> plan_backward(const Graph& graph, const Partition& partition,
                                   const Boundaries& boundaries, ValueId loss);

// Schedules of a pipeline in training: in which order each rank computes the forward and backward
// passes of its stages for each microbatch, and what that costs.
//
//   rank 0   F0 F1 F2 .. .. B0 B1 B2       gpipe, two ranks, three microbatches:
//   rank 1   .. F0 F1 F2 B0 B1 B2 ..       the dots are the bubble
//
//   gpipe        all forward passes, then all backward passes
//   1f1b         a rank begins the backward passes as soon as it can, so that few microbatches are
//                in flight (PipeDream-Flush, Narayanan et al. 2021)
//   interleaved  the same with several stages a rank, stage s on rank s % ranks: a smaller bubble
//                for more transfers (Megatron-LM, Narayanan et al. 2021)
//   zero_bubble  a backward pass is two works, for the inputs and for the weights; the latter fill
//                the bubble. No rank holds more microbatches than there are ranks, which is what the
//                first one holds in 1f1b (ZB-H1, Qi et al. 2023)
enum class ScheduleKind : std::uint8_t { gpipe, one_f_one_b, interleaved, zero_bubble };

// "gpipe", "1f1b", "interleaved", "zero-bubble"
std::string_view schedule_name(ScheduleKind kind);

// Times in any one unit, for one microbatch.
struct StageCost {
  double forward = 0;
  double backward = 0;  // for inputs and weights together, half of it for each
  double transfer = 0;  // of its outputs to the next stage, and of their gradients back
  // nullopt: unknown
  std::optional<double> held_bytes = {};        // parameters and the optimizer's state
  std::optional<double> activation_bytes = {};  // kept until a microbatch's backward pass
};

struct ScheduleInput {
  std::vector<StageCost> stages;
  std::uint32_t ranks = 1;
  std::uint32_t microbatches = 1;
};

enum class WorkKind : std::uint8_t { forward, backward, input_gradient, weight_gradient };

struct Work {
  WorkKind kind = WorkKind::forward;
  std::uint32_t stage = 0;
  std::uint32_t microbatch = 0;
  double begin = 0, end = 0;
};

struct Schedule {
  ScheduleKind kind = ScheduleKind::gpipe;
  std::vector<std::vector<Work>> ranks;           // in the order in which each rank works
  double makespan = 0;                            // until the last work ends
  double bubble = 0;                              // the share of all ranks' time without work
  std::vector<std::optional<double>> peak_bytes;  // by rank; nullopt: not known
  std::optional<double> most_bytes() const;       // of any rank; nullopt: not known of all
};

// The most passes of one kind, stages times microbatches, that a schedule may have.
inline constexpr std::uint64_t kMostPasses = 1'000'000;

// Refuses an input that the schedule cannot have: more than kMostPasses passes; a number of stages
// that is not a multiple of the ranks; more than one stage for each rank, unless the schedule is
// gpipe or interleaved; only one for interleaved; microbatches that do not divide into its rounds.
// O(works * log ranks).
Result<Schedule> make_schedule(ScheduleKind kind, const ScheduleInput& input);

// One line for each rank, "0F0,0F1,0B0": stage, work (F, B, I, W) and microbatch. Torch's
// _PipelineScheduleRuntime loads this as `compute_only`.
std::string schedule_csv(const Schedule& schedule);

}  // namespace cleave
