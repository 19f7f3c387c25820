// The splitter: settings, passes, and the partitions that they make.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/base/base.h"
#include "core/base/quantity.h"
#include "core/cost/cost.h"
#include "core/devices/devices.h"
#include "core/graph/graph.h"
#include "core/graph/state.h"
#include "core/lists/support.h"
#include "core/split/groups.h"
#include "core/split/options.h"

namespace cleave {

// ---- subgraphs ----
//
// Subgraphs: the graph as an alternating list of accelerator and CPU runs, each as long as
// possible.
//
// In the current mode take every node that is ready, until none is left; then flip. A fusion group
// counts as one node: all its members wait for everything that any of them waits for.

enum class Device : std::uint8_t { cpu, acc };

// One of several accelerators, in the order in which they are asked.
enum class TargetId : std::uint32_t {};

// Subgraphs in execution order. Within one, nodes keep the model's order.
struct Subgraphs {
  PerNode<PartId> subgraph_of;
  std::vector<Device> devices;
  std::vector<std::uint32_t> sizes;  // nodes of each
  // Of each; kNone on the CPU. Empty: there is one accelerator.
  std::vector<TargetId> targets = {};

  std::size_t count() const { return devices.size(); }
};

struct SubgraphsFound {
  Subgraphs subgraphs;
  // The number of subgraphs when starting on the other side (never fewer when `start` is `fewest`).
  std::size_t count_from_other_side = 0;
};

// Linear. An empty graph gives no subgraphs. Method: FX splitter, put_nodes_into_subgraphs, with ready queues and dependency counters; a
// node without inputs may start, which torch up to 2.8 never starts; torch 2.15 does, and begins on the CPU where it is a CPU node.
SubgraphsFound split_subgraphs(const Graph& graph, const Fusions& fusions,
                               const SplitOptions& options);

struct MergedSubgraphs {
  Subgraphs subgraphs;
  PerNode<Reason> reasons;  // of every node on the CPU; `small_subgraph` for nodes that moved here
};

// Appends accelerator subgraphs with fewer than options.min_acc_size nodes to the subgraph before,
// whatever its kind; the first subgraph becomes CPU instead. Consecutive CPU subgraphs are merged.
// Linear. Method: FX splitter, remove_small_acc_subgraphs.
MergedSubgraphs merge_small_subgraphs(const Graph& graph, const Subgraphs& subgraphs,
                                      PerNode<Reason> reasons, const SplitOptions& options);

// The same with consecutive CPU subgraphs as one. Linear.
Subgraphs with_cpu_neighbours_merged(const Subgraphs& subgraphs);

// Non-tensor moves (--move-non-tensor): where non-tensor data may cross, a node that makes some for
// another subgraph moves there, so that it does not cross after all.
//
//   acc_0: a -> split -> b       split makes a list that cpu_1 reads, too
//   cpu_1:          \-> c        => split and b move to cpu_1
//
// A node that makes a non-tensor moves from an accelerator subgraph when its readers outside are all
// in one other subgraph, with everything in its own subgraph that depends on it, if none of that has
// readers elsewhere. Then the nodes that make the non-tensors it reads are looked at.
// Method: FX splitter, move_non_tensor_nodes_on_boundary; but a fusion group stays where it is.
struct NonTensorsMoved {
  struct Left {
    NodeId node;
    PartId to;
    Reason reason;
  };
  Subgraphs subgraphs;     // some may be empty
  std::vector<Left> left;  // nodes that moved to another device, in the order in which they did
};

// Whether nodes, in model order, may move from one target to another.
using TargetTakes = std::function<bool(std::span<const NodeId>, TargetId from, TargetId to)>;

// Linear in the graph for each node that is looked at. `takes` is asked only where subgraphs have targets.
NonTensorsMoved move_non_tensor_nodes(const Graph& graph, const Fusions& fusions,
                                      Subgraphs subgraphs, const TargetTakes& takes = {});

bool makes_non_tensor(const Graph& graph, NodeId node);

// ---- partition ----
//
// Partition: the part of each node, and the parts in call order with names and devices. Every
// writer, report and drawing starts from it, whichever pass or map made it.

struct Partition {
  PerNode<PartId> part_of;             // kNone: a marker that only ends a stage
  std::vector<std::string> names;      // by PartId
  std::vector<Device> devices;         // by PartId; empty: not a split between accelerator and CPU
  std::vector<TargetId> targets = {};  // by PartId, kNone on the CPU; empty: one accelerator
  std::vector<std::uint32_t> member_begin;
  std::vector<NodeId> members;  // part p: [member_begin[p], member_begin[p+1]), model order

  std::size_t count() const { return names.size(); }
  IdRange<PartId> parts() const { return {0, names.size()}; }
  std::span<const NodeId> nodes(PartId part) const {
    const std::uint32_t first = member_begin[index(part)];
    return std::span(members).subspan(first, member_begin[index(part) + 1] - first);
  }
  bool is_acc(PartId part) const { return !devices.empty() && devices[index(part)] == Device::acc; }
  // The accelerator of a part, the first one where there is one only; kNone on the CPU.
  TargetId target(PartId part) const {
    if (!targets.empty()) return targets[index(part)];
    return is_acc(part) ? TargetId{0} : kNone<TargetId>;
  }
  const std::string& name(PartId part) const { return names[index(part)]; }
};

// The name of the partition that an accelerator subgraph becomes, where there is one accelerator.
std::string acc_name(PartId subgraph, const SplitOptions& options);

// Refuses prefixes that can give two partitions the same name: equal ones, and pairs such as "x"
// and "x1", where "x" numbered 11 and "x1" numbered 1 are both x11.
Status<> check_prefixes(const SplitOptions& options);

// Subgraph i becomes the part `<acc or non-acc prefix><i>`; subgraphs without nodes are left out
// and the others keep their numbers. Linear.
Partition make_partition(const Subgraphs& subgraphs, const SplitOptions& options);

// Groups nodes by `part_of` under the given names and devices; parts are in the given order. A node
// whose part is kNone is in no part. Linear.
Partition make_partition(PerNode<PartId> part_of, std::vector<std::string> names,
                         std::vector<Device> devices, std::vector<TargetId> targets = {});

// Holds when every node is in exactly one part, no value flows to an earlier part, and accelerator
// parts hold only nodes of `acc` (when given) apart from those merged in for being small. The error
// names the first node at fault. Linear.
Status<> check_partition(const Graph& graph, const Partition& partition, const NodeSet* acc);

// ---- boundary ----
//
// Boundaries: the inputs and outputs of each part, and so how the root calls the parts.

// One list of ids for each part (CSR).
template <class Id>
struct PerPartLists {
  std::vector<std::uint32_t> begin;
  std::vector<Id> items;
  std::span<const Id> operator[](PartId part) const {
    const std::uint32_t first = begin[index(part)];
    return std::span(items).subspan(first, begin[index(part) + 1] - first);
  }
};

struct Boundaries {
  // Values made outside the part, and parameters that are passed to it, in order of first use:
  // nodes in model order, each node's positional inputs, then keyword inputs, then captures of its
  // bodies.
  PerPartLists<ValueId> inputs;
  // Values that another part or the graph's output reads, in the order in which a walk over all
  // nodes in model order first meets such a use; graph outputs come last.
  PerPartLists<ValueId> outputs;
  // Parameters of the file that the part reads, directly, through its constants or as a module's
  // own, in order of first use. Outputs of constants are not listed: see `constants`.
  PerPartLists<ValueId> parameters;
  // Constants whose outputs the part's nodes read, in order of first use. What these are made of is
  // not listed, since a long chain that every part reads would be listed for each of them:
  // needed_constants() finds it.
  PerPartLists<NodeId> constants;
  // How many constants the parts hold in all, each counted once for each part that needs it.
  std::size_t constant_copies = 0;
};

// Nodes that are in no part are ignored. Linear in nodes + edges, plus the size of the lists and
// `constant_copies`.
// Method: FX splitter, split_by_tags.
Boundaries find_boundaries(const Graph& graph, const Partition& partition,
                           const BoundaryOptions& options = {});

// The constants that parts need, part by part, each in a time linear in its answer and the operands.
// Graph and boundaries must outlive it.
class NeededConstants {
 public:
  NeededConstants(const Graph& graph, const Boundaries& boundaries);

  // The constants that the part reads and those that they are made of; each comes before the
  // constants that use it. Valid until the next call.
  std::span<const NodeId> of(PartId part);

 private:
  const Graph& graph_;
  const Boundaries& boundaries_;
  std::vector<std::uint32_t> seen_;  // by constant: the number of the call that listed it last
  std::uint32_t calls_ = 0;
  std::vector<NodeId> needed_;
};

// The same for a single part, without a table of all constants.
std::vector<NodeId> needed_constants(const Graph& graph, const Boundaries& boundaries, PartId part);

// For each part the parts whose outputs are its inputs, in order of first use. When several parts
// pass a value on, it comes from the last of them before the reader. Linear.
PerPartLists<PartId> find_dependencies(const Graph& graph, const Boundaries& boundaries);

// ---- piece ----
//
// Piece: some nodes of a graph, to be cut out as a model of their own. All other nodes are in no
// part.

// A path that leaves a set of nodes and comes back: `over` is outside the set and depends on
// `from`; `to` depends on `over`.
struct Detour {
  NodeId from, over, to;
};

// The first such path of the nodes, which are in model order; nullopt: the set is convex. Linear in
// the nodes from the first to the last and their operands.
std::optional<Detour> find_detour(const Graph& graph, std::span<const NodeId> nodes);

// The tensors that a piece is asked for by: its first inputs, and its outputs, each in order.
struct PieceEnds {
  std::vector<ValueId> from, to;
};

// The nodes that `to` is computed by, from `from`: those that it depends on, without what `from`
// needs. In model order. Linear.
std::vector<NodeId> nodes_between(const Graph& graph, std::span<const ValueId> from,
                                  std::span<const ValueId> to);

// The graph's outputs that nodes compute from one of `from`, each once, in the graph's order. Linear.
std::vector<ValueId> outputs_after(const Graph& graph, std::span<const ValueId> from);

// A partition with one part, which has these nodes, in model order.
Partition make_piece(const Graph& graph, std::span<const NodeId> nodes, std::string name);

// The inputs and outputs of the only part of `piece`; nodes in no part and the graph's output read
// its outputs. Outputs are in the order in which they are made; the rest is as in
// find_boundaries(). With `ends`, the nodes between them: inputs are `from`, then what else the nodes
// read, which the graph is given, in its order; outputs are `to`. Linear in the part's edges, plus
// clearing tables of 4 bytes a value.
Boundaries find_piece_boundary(const Graph& graph, const Partition& piece,
                               const PieceEnds* ends = nullptr);

// ---- node ties ----
//
// Constraints on a split besides the flow of data. Operators that write memory in place must run
// before or after those that read it; passes find that order in the graph (Graph::followers). Nodes that view memory which is written must be in one
// partition, since a partition gets copies of the values of others.

struct NodeTies {
  std::vector<RunOrder> order;
  std::vector<std::vector<NodeId>> whole;  // sets of nodes that must be in one partition
  std::string way_out;  // what the user can do about them; "" if there is no remedy
  std::vector<std::string> causes = {};  // by set, "nodes that ..."; empty: memory that they write
};

// True if nodes of one set are in several parts. `part_of` is any numbering of parts. Linear.
bool divides_a_set(std::span<const std::vector<NodeId>> sets, const PerNode<PartId>& part_of);

// `fusions` with each set a group, too, on the accelerator if all its nodes can be there, else on
// the CPU (reason `shared_memory`). Sets grow to be convex and free of cycles with other groups.
Fusions keep_sets_whole(const Graph& graph, std::span<const std::vector<NodeId>> sets,
                        Fusions fusions);

// Refuses a split that has nodes of one set in several partitions; names the partitions and up to
// six of the nodes. Linear in the sets.
Status<> check_whole(const Graph& graph, const Partition& partition, const NodeTies& ties);

// ---- state on devices ----
//
// State of the model stays on the device that writes it, from step to step: it crosses the link only to readers on
// other devices, and a reader of its shape alone needs no byte of it.

class StateOnDevices {
 public:
  // Linear in the state and its readers. The graph and the partition must outlive it.
  StateOnDevices(const Graph& graph, const Partition& partition);

  // True of an input of the part that is not sent to it.
  bool is_there(PartId part, ValueId input) const;
  // True of an output of the model that no other device reads, in this step or the next.
  bool stays(ValueId output) const { return stays_.contains(index(output)); }
  // Whether the caller reads an output of the model besides handing it to the next step.
  bool is_result(ValueId output) const { return !is_handed_on_.contains(index(output)); }
  // The value that moves where a part reads `input`: of state the output of the step before.
  ValueId moved(ValueId input) const;
  // Whether a node of the part reads elements of state, and not its shape alone.
  bool reads_elements(PartId part, ValueId state) const {
    return reads_.contains(key_of(part, state));
  }
  // The part that writes the state that `input` is; kNone: it is no state, or never written.
  PartId home(ValueId input) const;

 private:
  template <class Take>
  void each_reader(ValueId value, const Take& take);
  static std::uint64_t key_of(PartId part, ValueId value) {
    return std::uint64_t{index(part)} << 32U | index(value);
  }
  // Each stage of a pipeline is a device.
  bool is_on_one_device(PartId one, PartId other) const {
    return one == other ||
           (!partition_.devices.empty() && partition_.target(one) == partition_.target(other));
  }

  const Graph& graph_;
  const Partition& partition_;
  std::unordered_set<std::uint32_t> stays_, is_handed_on_;
  std::unordered_set<std::uint64_t> reads_;  // parts and values
};

// ---- latency ----
//
// Latency: the time of one inference of a split, part after part.
//
//   nodes on the CPU + nodes on the accelerator + launches of accelerator parts + the link
//
// The link carries the inputs and outputs of accelerator parts. Without residency a value crosses
// once into each accelerator part that reads it, and once out of the part that makes it when
// another part or the graph's output reads it. With residency it crosses at most once in each
// direction.

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
Status<> check_latency_input(const Graph& graph, const LatencyInput& input);

// A part's link_us is the time of its bytes in and out; with a full-duplex link, of the larger of
// the two. The link's time is the sum over the parts, since each waits for its own. Linear.
Latency latency(const Graph& graph, const Partition& partition, const Boundaries& boundaries,
                const LatencyInput& input);

// The bytes that cross for each part, by PartId; 0 for CPU parts. Non-tensors count 0 bytes.
// Linear.
PerPart<LinkBytes> part_link_bytes(const Graph& graph, const Partition& partition,
                                   const Boundaries& boundaries, const LatencyInput& input);

// Microseconds that the links take for the bytes of one part.
double link_us(const LinkBytes& bytes, const Machine& machine);

// ---- device use ----
//
// What a split for several targets holds, and how long an inference takes when parts of different
// devices run at the same time.

struct DeviceUse {
  // By target: the most bytes that it holds at once. These are the weights of all its parts, each once,
  // and values from the node that makes them, or the part that they enter, to the last that reads them.
  // A tensor of unknown size takes none.
  std::vector<std::uint64_t> peak_bytes;
  std::vector<bool> is_peak_known = {};  // by target: every tensor that it holds has a known size
  // Each device runs its parts in order, and each part when what it reads is there. A node of unknown
  // time takes none.
  PartSchedule schedule;
  // By device, the host last: millijoules of its nodes, transfers and launches. Empty where what a device
  // draws is not known. A node of unknown work takes none.
  std::vector<double> energy_mj = {};

  std::optional<double> total_mj() const {
    if (energy_mj.empty()) return std::nullopt;
    return std::accumulate(energy_mj.begin(), energy_mj.end(), 0.0);
  }
};

// What the devices draw, the host last; empty where one is not known.
std::vector<EnergyNumbers> energy_numbers(const LatencyInput& input);

// Nodes of a part run in the model's order. O(n log n).
DeviceUse device_use(const Graph& graph, const Partition& partition, const LatencyInput& input);

// ---- place ----
//
// Placement by cost (--place cost): of the nodes that may run on the accelerator, keeps those there
// that make an inference faster, counting the time of the link and of launches.
//
//   conv (acc) -> small op (CPU only) -> add (acc) -> softmax (CPU only)
//   add moves to the CPU where two crossings and a launch cost more than it gains
//
// Groups stay whole. Where non-tensor data may not cross, its makers and readers stay on one side.
// A node whose time is unknown takes no time on either side, and a tensor whose size is unknown
// takes no time on the link: the result counts both.

// With PlaceGoal::energy in millijoules instead of microseconds.
struct PlacementNumbers {
  double total_us = 0;
  double bound_us = 0;  // no placement is faster
  PlacementProof proof = PlacementProof::none;
  StartSide start = StartSide::cpu;  // the side on which the subgraph pass should start
  std::size_t moved = 0;             // nodes that went to the CPU
  std::size_t launches = 0;
  // What the best placement gains on all that may run on the accelerator being there, of its time. Nodes
  // do not move when this is less than asked for.
  double gain = 0;
  bool is_too_little = false;
  std::size_t unknown_times = 0;  // nodes
  std::size_t unknown_sizes = 0;  // tensors
};

// What targets would hold and run, where that is more than they can. By target.
struct CapacityExceeded {
  std::vector<std::uint64_t> bytes;  // at once
  std::vector<std::size_t> parts;
};

// Of a node that would be on the accelerator if its memory were larger.
Reason lacks_memory(const Machine& machine);

struct PlacedByCost {
  Fusions fusions;  // what stays on the accelerator, with groups and reasons
  PlacementNumbers numbers;
  std::optional<CapacityExceeded> unfit = {};  // nothing fits
};

struct PlaceRequest {
  LatencyInput latency;
  bool allow_non_tensor = false;
  const NodeSet* required = nullptr;            // nodes that stay on the accelerator; null: none
  const NodeSet* shape_computations = nullptr;  // as --host-shapes found them; null: none
  double min_gain = 0;                          // of the time: nodes move to the CPU for no less
  FoundPlacements* found = nullptr;             // of earlier requests; null: it is searched
};

// Only the numbers of the best placement of what may run on the accelerator. Close to linear.
PlacementNumbers best_placement(const Graph& graph, const Fusions& fusions,
                                const PlaceRequest& request);

// `fusions` is what may run on the accelerator. Each node that moves has the reason `costs_more`,
// with the sum that it and the nodes moved along with it would cost there, or the accelerator's memory,
// where it would be there if that were larger. Close to linear.
PlacedByCost place_by_cost(const Graph& graph, Fusions fusions, const PlaceRequest& request);

// ---- limit parts ----
//
// Part limits: accelerator subgraphs beyond what a list says of a whole partition ("max_nodes",
// "max_parameter_bytes", "max_inputs", "max_outputs", "max_activation_bytes") are cut into several.
//
// A unit is a fusion group, or a node in no group. Units are taken in an order of execution; each
// piece takes as many as the limits allow, and ends, in the second half of these, where the fewest
// bytes cross to the next piece. A unit that is beyond a limit by itself goes to the CPU.

// Each limit, and the list that states it; of several lists the least.
struct LimitsOfLists {
  PartLimits limits;
  std::array<std::uint16_t, kPartLimitCount> list = {};  // by PartLimit
};
LimitsOfLists limits_of_lists(std::span<const SupportList> lists);

// What the limits did. All 0 when no subgraph was beyond one.
struct LimitCuts {
  std::size_t subgraphs = 0;  // that were beyond a limit
  std::size_t pieces = 0;     // accelerator subgraphs made of them
  std::size_t nodes = 0;      // that went to the CPU
};

struct LimitedSubgraphs {
  MergedSubgraphs merged;
  LimitCuts cuts;
};

// Cuts subgraphs, and gives the nodes that go to the CPU the reason `part_limit`. Consecutive CPU
// subgraphs are merged. A parameter counts once per piece; one of unknown size counts as 0 bytes.
// Linear in nodes and edges; where outputs or activations are limited, a piece has at most 4,096 units, and
// each may be looked at that often.
LimitedSubgraphs limit_parts(const Graph& graph, const Fusions& fusions,
                             const LimitsOfLists& limits, MergedSubgraphs merged);

// ---- extend ----
//
// Extension (--extend): accelerator subgraphs reach back for nodes that only they use.
//
//   acc_0: a b    cpu_1: c    acc_2: d        d reads b and c; nothing else reads b
//   acc_0: a      cpu_1: c    acc_2: b d      b goes from acc_0 to acc_2

// An extension that was left out: with it, a subgraph would be beyond a limit of a list.
struct ExtensionLeftOut {
  PartId subgraph;    // that stays as it is
  std::size_t nodes;  // that would have moved there
  PartLimit limit;
};

struct ExtendedSubgraphs {
  Subgraphs subgraphs;
  std::vector<NodeId> moved;               // model order
  std::vector<ExtensionLeftOut> left_out;  // by subgraph
};

// Moves accelerator nodes from earlier subgraphs into the one that options.which names, going
// backwards from the producers of its nodes: a node moves when all its users in subgraphs before
// have moved. `all` extends from the last subgraph to the first, so that a subgraph has lost its
// nodes to later ones before it is extended. `automatic` makes only those extensions that lower the
// bytes that enter and leave accelerator subgraphs.
//
// Each extension is judged by itself: one that takes a subgraph, its own or one that loses nodes,
// beyond `limits` is left out, and the others are made. Refuses to extend a subgraph that does not
// exist or is not on the accelerator. Linear in the graph and in the moves that are taken back.
// Method: FX splitter, extend_acc_subgraph.
Result<ExtendedSubgraphs> extend_subgraphs(const Graph& graph, const Fusions& fusions,
                                           Subgraphs subgraphs, const ExtendOptions& options,
                                           const PartLimits& limits);

// ---- keep best ----
//
// Keep best: keeps at most a given number of accelerator subgraphs, the most valuable ones.
//
// The value of a subgraph is the CPU time it saves minus the time it takes on the link:
//   time    seconds of its nodes on the CPU (measured in the file, else by the roofline: computing
//           or memory, whichever takes longer), less the seconds that its data is on the link
//   flops   its FLOPs, less what the CPU could compute in these seconds
//   nodes   its nodes; on a tie, the one with fewer bytes over the link
//   latency microseconds that it saves per inference: its nodes' time on the CPU, less their
//           time on the accelerator, its launch, and its data on the link
// Data only crosses between a subgraph and the host. So the value of one does not depend on which
// others are kept, and the best K are those with the greatest values.

// What the limit costs, besides the nodes' reasons. All 0 when no subgraph is over it.
struct CapCost {
  std::size_t kept = 0;       // accelerator subgraphs
  std::size_t subgraphs = 0;  // those moved to the CPU; the fields below count only them
  std::size_t nodes = 0;
  double flops = 0;              // of nodes whose FLOPs are known
  std::uint64_t link_bytes = 0;  // that no longer cross
};

struct KeptSubgraphs {
  Subgraphs subgraphs;
  PerNode<Reason> reasons;  // `over_cap` for nodes that moved to the CPU here
  CapCost cost;
};

// The numbers by which subgraphs are judged.
struct KeepBasis {
  Link link = default_link();
  const LatencyInput* latency = nullptr;  // needed by KeepBy::latency and only_gaining
};

// Keeps the options.most_kept best accelerator subgraphs, the first ones on a tie; with keep_only_gaining
// none whose latency gain is below 0. The others become CPU, and consecutive CPU subgraphs are
// merged. If none is over the limit, returns `found` unchanged. Linear, plus sorting the subgraphs,
// and rounds of dropping those that do not gain.
KeptSubgraphs keep_best_subgraphs(const Graph& graph, MergedSubgraphs found,
                                  const SplitOptions& options, const KeepBasis& basis);

// The minimum size of accelerator subgraphs with the least time of an inference; the smallest
// on a tie, at least 1. Tries each size that occurs, at most 64 of them. Linear for each.
std::size_t fastest_min_size(const Graph& graph, const Subgraphs& subgraphs,
                             const LatencyInput& input);

// ---- split ----
//
// split_graph: the main job, all passes in order. The page to read first is split.cc.

// What the lists of one of several targets say, and why it does not run nodes.
struct TargetVerdicts {
  Support support;          // as if it were the only target; lists by their place in SplitInput
  PerNode<Reason> reasons;  // `none` for nodes that it runs, and for those that another took first
  std::size_t min_acc_size = 1;  // the minimum that was used
};

struct Split {
  Support support;         // the lists' verdicts; of several targets what any of them accepts
  HostShapes host_shapes;  // if enabled: shape computations, and verdicts with them moved
  AccNodes acc_found;      // after the acc finder
  QdqGroups qdq_groups;    // if enabled
  Fusions fusions;  // what moves as one; .acc is the remaining set, its reasons are in `reasons`
  std::optional<PlacementNumbers> placement;  // when nodes were placed by cost
  SubgraphsFound found;                       // before small ones were merged
  std::size_t min_acc_size = 1;               // the minimum that was used
  LimitCuts limit_cuts;                       // subgraphs beyond the lists' part limits
  std::size_t merged_count = 0;  // of subgraphs after small ones were merged and large ones cut
  std::size_t count_without_host_shapes = 0;  // if enabled: the same had no verdict been moved
  CapCost cap;                                // subgraphs that went to the CPU because of the limit
  PerNode<Reason> reasons;       // of every node that ends on the CPU; `none` for others
  std::vector<NodeId> extended;  // moved by the extension, model order
  std::vector<ExtensionLeftOut> extensions_left_out;  // because of the lists' part limits
  Partition partition;
  Boundaries boundaries;
  std::vector<TargetVerdicts> targets = {};  // by TargetId; empty: there is one accelerator
  // A bound, for several targets: with each node on the target that it has now, no split has fewer
  // accelerator parts. 0: not known.
  std::size_t least_acc_parts = 0;
  // Several targets placed by cost: what the goal would be if they were asked in order, in microseconds
  // or millijoules.
  std::optional<double> in_order_cost = {};
  // Placed by cost: no placement keeps to the targets' memory and numbers of parts.
  std::optional<CapacityExceeded> unfit = {};
};

// One of several accelerators.
struct Target {
  std::string name;                          // a lower-case word
  std::size_t first_list = 0, end_list = 0;  // its lists: SplitInput::lists[first_list, end_list)
  std::size_t min_acc_size = 1;              // smaller parts go to the next target that takes them
  std::size_t most_kept = SplitOptions::kUnlimited;  // parts; those worth least go on
  Link link = default_link();                        // between it and the CPU
};

// The graph to split, and the machine to split it for.
struct SplitInput {
  const Graph& graph;
  std::span<const SupportList> lists;
  const OpFacts& facts;
  Link link = default_link();          // used to value subgraphs: SplitOptions::keep_by
  const TargetTimes* times = nullptr;  // of nodes; null: the model's own, and the machine's rates
  const NodeSet* required = nullptr;   // nodes that PlaceBy::cost leaves on the accelerator
  // In the order in which they are asked. Fewer than two: all lists are of one accelerator.
  std::span<const Target> targets = {};
  FoundPlacements* found = nullptr;  // of PlaceBy::cost, by earlier splits; null: they are searched
  // By target: nodes that PlaceBy::cost leaves on it, if its lists take them. Fewer than targets: the
  // others have none.
  std::span<const std::vector<NodeId>> required_on = {};
};

// True when an option decides by the time of an inference.
bool asks_for_latency(const SplitOptions& options);

// The verdict on each node. Refuses lists with too many rules for one op.
Result<Support> judge_by_lists(const Graph& graph, std::span<const SupportList> lists,
                               const OpFacts& facts);

// Refuses only options that cannot be met: prefixes that give two partitions one name, an extension
// of a subgraph that does not exist or is not on the accelerator, a choice by times that are
// unknown. Linear in nodes + edges for each target, and for each time that runs of several move on, except
// for the moves that `automatic` extension tries and takes back. A split that divides a set of
// input.facts.whole is made again with these sets as groups. Targets whose lists accept no node take no
// part: if one is left, the split is the one for it alone.
Result<Split> split_graph(const SplitInput& input, const SplitOptions& options,
                          const Progress& progress = {});

// ---- targets ----
//
// A split for several targets, such as an NPU and a GPU beside the CPU.
//
// Targets are asked in order, each for what is left (--place order), with every other node as the other
// side. So a group is on one device, and data that is no tensor crosses between no two devices. Rounds
// (core/devices/devices.h) make runs of it.
//
//   npu takes Conv, gpu takes Conv and Resize:
//   Conv -> Resize -> Conv -> NonMaxSuppression       npu {Conv} gpu {Resize} npu {Conv} cpu {...}
//
// A run that is too small for its target, or one too many, goes to the next target that takes all
// of its nodes, else to the CPU; then the rounds are made again.

// The name of the target where none is named.
inline constexpr std::string_view kOnlyTarget = "acc";
// More than any machine has.
inline constexpr std::size_t kMostTargets = 16;

// True when the target takes all of these nodes: its lists accept each, and a match of a pattern lies
// within them as a whole or not at all.
bool takes_all(const Support& support, std::span<const NodeId> nodes);

// ---- fewest bytes ----
//
// Fewest bytes (--pack bytes): accelerator nodes that may run in either of two neighbouring accelerator
// subgraphs go where the fewest bytes cross the link. Rounds take each node as early as they can, so a
// value may leave the accelerator only to come back to the next subgraph.
//
//   acc_0: a b    cpu_1: c    acc_2: d       d reads b and c; b reads what a reads
//   acc_0: a      cpu_1: c    acc_2: b d     b's result does not cross any more

struct PackedSubgraphs {
  Subgraphs subgraphs;
  std::size_t moved = 0;  // nodes
};

// Moves units between accelerator subgraphs with one CPU subgraph between them; the number of subgraphs
// and what runs on which device stay. For each pair the assignment is a minimum cut, so no other one of
// its units lets fewer bytes cross. Sweeps over all pairs take of equal ones that with most nodes in the earlier
// subgraph, and that with most in the later one, in turn, until neither gains, at most a few times: so a
// node comes to a subgraph further away, too. Then pairs further apart, of which one reads from the other: those with
// most bytes between them, each subgraph in at most eight. The early ones are last, and nothing moves where nothing is gained. A value counts once for each accelerator subgraph that reads it from outside, and
// once when it leaves the one that makes it; parameters and values of unknown size count nothing.
// A subgraph is left with `min_acc_size` nodes, and within `limits`, or stays as it is.
// Cost: for each pair that of a minimum cut of its nodes and edges (see MinCut).
PackedSubgraphs pack_for_fewest_bytes(const Graph& graph, const Fusions& fusions,
                                      Subgraphs subgraphs, std::size_t min_acc_size,
                                      const PartLimits& limits);

// ---- place on targets ----
//
// Placement of a graph on several targets so that one inference takes the least time (--place cost).
//
// What moves is a unit: nodes that exchange data that is no tensor, groups of any target, and sets
// that stay whole, made convex and free of cycles. A target may run a unit if it takes all its nodes.

struct TargetPlaceRequest {
  LatencyInput latency;
  // Empty: the time is made small; else energy, by device, the host last.
  std::span<const EnergyNumbers> energy = {};
  std::span<const Target> targets;
  // By target: the nodes that it may run if it is the only one, with groups.
  std::span<const Fusions> alone;
  std::span<const std::vector<NodeId>> sets;  // nodes that stay whole
  const NodeSet* required = nullptr;          // nodes that stay on some target; null: none
  std::span<const std::vector<NodeId>> required_on = {};  // by target: nodes that stay there
  bool allow_non_tensor = false;
  FoundPlacements* found = nullptr;  // of earlier requests; null: it is searched
};

// The rounds of a placement, by node.
struct NodeRounds {
  std::vector<DeviceIndex> devices;  // by part
  PerNode<std::uint32_t> part_of;
  std::size_t least_acc_parts = 0;
};
NodeRounds rounds_by_node(const Graph& graph, const Contraction& units, const Rounds& rounds);

struct TargetsPlaced {
  PerNode<DeviceIndex> device_of;
  NodeRounds rounds;
  // Where nodes would be if no memory were limited; empty: where they are.
  PerNode<DeviceIndex> without_limits = {};
  std::vector<std::vector<NodeId>> groups;  // units of several nodes
  PlacementNumbers numbers;
  std::optional<CapacityExceeded> unfit = {};  // nothing fits
};

// The placement keeps to each target's memory and number of parts, unless required nodes make that
// impossible: then `unfit` has what they need. A node whose time is unknown takes none, and a tensor
// of unknown size takes none on a link: the numbers count both.
TargetsPlaced place_on_targets(const Graph& graph, const TargetPlaceRequest& request);

}  // namespace cleave
