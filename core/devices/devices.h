// Placement by cost on several devices: the problem, its rounds, its bound.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/base/base.h"
#include "core/base/min_cut.h"
#include "core/cost/cost.h"
#include "core/graph/graph.h"

namespace cleave {

// ---- rounds ----
//
// Rounds: a graph whose units are placed on several devices, as the fewest parts that run one after
// the other.
//
//   a (npu) -> b (gpu) -> c (cpu)     npu {a}, gpu {b d}, cpu {c}, npu {e}: four parts
//   d (gpu) -------------> e (npu)    gpu {d} first would make it five
//
// A round takes everything of one device that is ready, and what becomes ready of it by that. Its
// units are a part. So no part waits for itself, whatever the placement.
//
// With two devices the rounds alternate. With more, the next device has to be chosen, and the best
// choice is hard to find: the problem contains the shortest common supersequence. Hence a rule, the
// device from which the longest chain of parts is left, and a search over several choices at a time.

// Targets in the user's order are 0, 1, ...; the host is the last device.
using DeviceIndex = std::uint8_t;

// Units and their readers, with what does not depend on where they are placed. Kept where many
// placements of one graph are compared. The readers must outlive it.
struct RoundsGraph {
  explicit RoundsGraph(const Adjacency& readers_by_unit);

  const Adjacency& readers;          // by unit: units that read from it; no cycle
  std::vector<std::uint32_t> waits;  // by unit: reads from other units
  std::vector<std::uint32_t> order;  // units, after what they read from

  std::size_t unit_count() const { return waits.size(); }
  // Units and readers.
  std::uint64_t size() const { return waits.size() + readers.items.size(); }
};

struct RoundsInput {
  const RoundsGraph& graph;
  std::span<const DeviceIndex> device_of;  // by unit
  std::size_t device_count = 2;            // with the host, which is the last
};

struct Rounds {
  std::vector<DeviceIndex> devices;    // by part, in the order in which they run
  Adjacency units;                     // by part, ascending
  std::vector<std::uint32_t> part_of;  // by unit
  std::size_t acc_parts = 0;           // parts that are not on the host
  // No order of rounds has fewer: the most such parts that follow each other on any path, or, of each
  // device the most of its own, summed.
  std::size_t least_acc_parts = 0;
  std::size_t least_parts = 0;  // the same with those on the host
  // No order has fewer parts on targets, and none that has as few has fewer in all.
  bool is_fewest = false;
  std::uint64_t steps = 0;  // units and readers visited

  std::size_t count() const { return devices.size(); }
};

struct RoundsEffort {
  std::size_t states = 16;           // that the search keeps; 0: the rule alone
  std::size_t most_units = 100'000;  // the rule alone above
  std::uint64_t steps_an_entry =
      120;                  // of the search, for each unit and reader; then the rule goes on
  bool lists_units = true;  // false: Rounds::units stays empty
};

// Minimises the partitions on targets, then all partitions. Of several devices with
// equal chains the earlier target comes first. Linear.
Rounds find_rounds(const RoundsInput& input, const RoundsEffort& effort = {});

// ---- problem ----
//
// A placement problem with several devices: which unit runs on which target, or on the host, so that
// one inference costs the least. It knows no model, only units, values and costs.
//
//   unit    a node, or nodes that stay together in one part
//   value   made by a unit or given by the host, read by units and perhaps by the host
//   cost    microseconds, or millijoules: whatever is to be small (`--goal`)
//
// The cost of a placement is the sum of its units' costs, of the launches of its parts on targets,
// which are those of find_rounds(), and of its transfers. These go through the host: a value that
// another device reads goes up once, and down once to each target that reads it; the host's own
// values need not go up. Without residency it goes up once from the part that made it, and down to
// each part that reads it. A direct link between two targets, where it costs no more, replaces both.

// A target, with its link to the host.
struct DeviceTarget {
  double down_cost = 0;  // of a byte from the host to it
  double up_cost = 0;    // of a byte from it to the host
  double launch_cost = 0;
  Duplex duplex = Duplex::half;
  std::size_t most_parts = std::numeric_limits<std::size_t>::max();
  std::optional<std::uint64_t> memory = {};  // bytes

  bool operator==(const DeviceTarget&) const = default;
};

// A link between two targets that does not go through the host.
struct DirectLink {
  DeviceIndex from = 0;
  DeviceIndex to = 0;
  double cost = 0;  // of a byte; 0: they share their memory
  bool operator==(const DirectLink&) const = default;
};

struct DeviceProblem {
  static constexpr auto kHost = std::numeric_limits<std::uint32_t>::max();
  static constexpr double kRefused = -1;

  std::vector<DeviceTarget> targets;  // in the user's order; the host is the device after the last
  std::vector<DirectLink> links;      // one way each
  double host_launch_cost = 0;        // of a part on the host

  std::vector<double> unit_costs;  // by unit, for each its devices: the cost there, or kRefused

  std::vector<std::uint32_t> producer;   // by value: a unit, or kHost
  Adjacency readers;                     // by value: units, each once, never the producer
  std::vector<double> bytes;             // by value
  std::vector<std::uint8_t> host_reads;  // by value: 1 when it is an output of the model

  Adjacency weights;                 // by unit: what it reads of the weights; may be empty
  std::vector<double> weight_bytes;  // by weight: it is held once on each device that reads it

  // By unit: the first of those that stay with it on one device, though not in one part. They accept the
  // same devices. Empty: each is by itself.
  std::vector<std::uint32_t> stays_with;

  Residency residency = Residency::off;

  // By value: below 0, or it is state, which memory holds all the time, as it holds weights: so many of its
  // readers, the last, read it in the next step. They need not run after its maker, and each part on the maker's
  // device has it. Empty: no value is state.
  std::vector<std::int32_t> later_readers = {};

  bool is_state(std::uint32_t value) const {
    return !later_readers.empty() && later_readers[value] >= 0;
  }
  // The readers in the same step, which are the first of all.
  std::span<const std::uint32_t> readers_now(std::uint32_t value) const {
    const auto all = readers.of(value);
    if (!is_state(value)) return all;
    return all.first(all.size() - static_cast<std::size_t>(later_readers[value]));
  }
  std::size_t device_count() const { return targets.size() + 1; }
  DeviceIndex host() const { return static_cast<DeviceIndex>(targets.size()); }
  std::size_t unit_count() const { return unit_costs.size() / device_count(); }
  std::size_t value_count() const { return producer.size(); }
  double cost(std::uint32_t unit, DeviceIndex device) const {
    return unit_costs[unit * device_count() + device];
  }
  bool accepts(DeviceIndex device, std::uint32_t unit) const { return cost(unit, device) >= 0; }

  bool operator==(const DeviceProblem&) const = default;
};

// By unit: its device. Each accepts its units.
using Devices = std::vector<DeviceIndex>;

struct DeviceScore {
  std::vector<double> unit_costs;         // by device
  std::vector<double> link_costs;         // by device: of its parts' transfers; the host has none
  std::vector<double> launch_costs;       // by device
  std::vector<std::size_t> parts;         // by device
  std::vector<std::uint64_t> peak_bytes;  // by device: held at once, weights included
  std::vector<double> part_costs;         // by part: units, transfers and launch
  double total = 0;
  double penalty = 0;  // above 0: a target has more parts, or holds more, than it can
};

// ---- energy ----
//
// Energy as the cost of a placement: the same problem, with millijoules in place of microseconds.
// Found and scored like any other, so a report can have both.

inline constexpr double kMillijoulesPerPicojoule = 1e-9;

// What a unit does, wherever it runs.
struct UnitWork {
  double flops = 0;
  double bytes = 0;  // that it reads and writes
};

// `work` is by unit, `devices` by device, the host last. A value that crosses is read from one
// device's memory and written to the other's, over a direct link too, unless they share it. Linear.
DeviceProblem energy_problem(DeviceProblem problem, std::span<const UnitWork> work,
                             std::span<const EnergyNumbers> devices);

// Millijoules with all nodes on the CPU.
double all_cpu_mj(const Graph& graph, const EnergyNumbers& cpu);

// ---- graph problem ----
//
// The placement problem of a graph: which device runs which unit, from the times of its nodes, the
// sizes of its tensors and the machines of the targets.

struct GraphProblemInput {
  const Graph& graph;
  // Nodes that stay together, because they exchange data that is no tensor, match a pattern, ... Units
  // do not depend on each other in a cycle.
  const PerNode<std::uint32_t>& unit_of;
  std::size_t unit_count = 0;

  std::span<const NodeSet> accepted;  // by target: the nodes that it can run
  const NodeSet* required = nullptr;  // nodes that do not run on the host; null: none
  const TargetTimes& times;
  std::span<const Machine> machines;   // by target: its link, launch, memory and most parts
  std::vector<DirectLink> links = {};  // costs in microseconds a byte
  double host_launch_us = 0;           // of a part on the host
  Residency residency = Residency::off;
  // Who reads what a node makes stays with it where that is no tensor, or another of its outputs is none.
  bool ties_non_tensors = false;
};

struct GraphProblem {
  DeviceProblem problem;  // costs in microseconds
  // Nodes that could run on a device where their time is unknown: they take none anywhere.
  std::size_t unknown_times = 0;
  std::size_t unknown_sizes = 0;              // tensors that take no bytes
  std::vector<std::uint8_t> is_unknown = {};  // by unit: 1 when that is so of one of its nodes
  std::vector<double> untied_costs = {};      // unit_costs as if no unit stayed with others
};

// A unit runs on a target that accepts all its nodes, and on the host unless one is required
// elsewhere and a target accepts the unit. An order between nodes that is not one of data
// (Graph::followers) is a value of no bytes. Linear.
GraphProblem graph_problem(const GraphProblemInput& input);

// By unit: FLOPs, and bytes read and written, for energy_problem(); what is unknown counts as 0.
// `costs` are by node. Linear.
std::vector<UnitWork> unit_work(const GraphProblemInput& input, const PerNode<NodeCost>& costs);

// ---- schedule ----
//
// Schedule: parts of different devices that run at the same time. Each device runs its parts in their
// order, and each part starts when its device is free and what it reads is there.
//
//   npu  [ 0 ][ 2     ]         1 and 2 read from 0, and 3 reads from both:
//   gpu       [ 1 ]             the critical path is 0, 2, 3
//   cpu                [ 3 ]

struct PartSchedule {
  std::vector<double> start;  // by part
  std::vector<double> end;
  double makespan = 0;  // the end of the last
  // Parts of which each starts when the one before it ends, from the start to the makespan.
  std::vector<std::uint32_t> critical;
};

// By part: the parts that it reads from, ascending, each once. O(n log n).
Adjacency needed_parts(const Adjacency& unit_readers, const Rounds& rounds);

// `devices` and `costs` are by part, in an order in which no part needs a later one. Linear.
PartSchedule schedule_parts(std::span<const DeviceIndex> devices, const Adjacency& needed,
                            std::span<const double> costs);

// ---- placement ----
//
// Finds a placement on one device or several, and the host, that costs little, and a bound that none is
// below. The result depends on the problem alone.
//
// Steps:
// 1. with few units: every placement is tried;
// 2. otherwise starts: minimum cuts, first without launches, then with growing shares of a launch
//    charged to values that cross; all on the host, and each order of the targets. With one target a cut
//    is exact; with several it is one expansion after the other;
// 3. where a target cannot hold it: cuts with a price of a byte there, found by bisection; then some
//    units go back. The search is done twice then, the second time from the best without limits, too,
//    and then for less memory: what is found there fits as well;
// 4. local search by the true cost, which counts launches, and a value that enters several parts:
//      drop   a target's part, or a connected piece of one, goes elsewhere
//      merge  what is between two of a target's parts leaves the host, so that they become one
//      move   single units, and pieces of parts on the host, change their device
//      swap   units change places where memory is short
// 5. from random changes of the best placement the search goes on, until the effort is spent.

struct DeviceEffort {
  std::uint64_t steps =
      18'000'000;  // limit of units and readers that the search visits, for each target
  std::uint32_t most_tried = 16'384;  // up to this many placements, all are tried
};

enum class PlacementProof : std::uint8_t {
  none,        // the bound is lower than the cost
  cut,         // the cost is the bound: no placement costs less
  exhaustive,  // every placement was tried
};

struct DevicePlacement {
  Devices devices;
  // Where units would be if no memory were limited; empty where that fits, and is what `devices` is.
  Devices without_limits = {};
  Rounds rounds;
  DeviceIndex first = 0;  // with one target, the device that rounds begin with
  DeviceScore score;  // a penalty above 0: nothing that was tried fits; peak_bytes is what it needs
  double bound = 0;   // no placement costs less, even if it did not have to fit
  PlacementProof proof = PlacementProof::none;
};

// Each unit on the first device of the list that accepts it, else on the host, else on the first that
// does.
Devices place_in_order(const DeviceProblem& problem, const std::vector<DeviceIndex>& order);

// The score where all that the host accepts is there: of a target that then holds more than its memory,
// or has more parts than it can, no placement is known to fit.
DeviceScore least_use(const DeviceProblem& problem);

// Not worse than any order of up to four targets, nor than all on the host. Close to linear, plus the
// effort. `starts`: placements that the search goes on from, too.
DevicePlacement find_placement(const DeviceProblem& problem, const DeviceEffort& effort = {},
                               const std::vector<Devices>& starts = {});

// ---- phases ----
//
// A model that runs in phases, such as a prompt and then one token at a time, has a placement for each. They share
// what one leaves to the next, which costs a transfer where the two are on different devices.

// A state that one phase leaves to another, once.
struct Handover {
  std::size_t from_phase = 0;
  std::uint32_t from_unit = 0;  // that writes it
  std::size_t to_phase = 0;
  std::uint32_t to_unit = 0;  // that reads it
  double bytes = 0;
};

struct PhasesProblem {
  std::vector<DeviceProblem> phases;  // of the same devices
  std::vector<double> runs;           // by phase: how often it runs; above 0
  std::vector<Handover> handovers;
};

struct PhasesPlacement {
  std::vector<DevicePlacement> phases;
  double total = 0;  // of all runs, with what is handed over
  double bound = 0;  // no placements cost less
};

// Starts are those of each phase by itself; of two devices one minimum cut of all phases, weighted by their runs, in
// which handovers are edges and launches are arcs; of several all phases as one problem; and all on one device. The best
// is searched further, each phase beside the others. Exact for two devices where units are a chain. As
// find_placement(), a few times.
PhasesPlacement find_phases_placement(const PhasesProblem& problem,
                                      const DeviceEffort& effort = {});

// What find_placement() found, so that splits of one model under several options search once for each
// problem: few options change it. The last problems are kept. Not for several threads at a time.
class FoundPlacements {
 public:
  struct Found {
    DeviceProblem problem;
    DevicePlacement placement;
    PerNode<std::uint32_t> unit_of;
  };

  // As find_placement(problem). Linear for a problem that is known.
  DevicePlacement find(DeviceProblem problem, const PerNode<std::uint32_t>& unit_of,
                       const DeviceEffort& effort = {});
  // The first that was asked for; null: none was.
  const Found* first() const { return found_.empty() ? nullptr : &found_.front(); }
  // What find() is to give for the problem, and the caller has decided on, whatever it gains.
  void put(Found found) {
    found_.push_front(std::move(found));
    is_decided_ = true;
  }
  bool is_decided() const { return is_decided_; }

 private:
  static constexpr std::size_t kMost = 4;
  std::deque<Found> found_;
  bool is_decided_ = false;
};

}  // namespace cleave
