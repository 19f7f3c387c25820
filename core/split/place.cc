// Placement by cost as a pass of the splitter, on one target or several.

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "core/cost/cost.h"
#include "core/devices/devices.h"
#include "core/devices/search.h"
#include "core/split/groups.h"
#include "core/split/split.h"

namespace cleave {

// ---- place ----
//
// The graph becomes a placement problem; the answer is a smaller accelerator set.
//
//   1. units: groups, and nodes in no group; values that units make or read
//   2. find_placement(), if an equal problem was not solved before
//   3. reasons: connected nodes that moved share one sum, the time that all of them would add on
//      the accelerator. If there are too many such pieces to score, all share one sum.

namespace {

constexpr DeviceIndex kAcc = 0, kCpu = 1;  // the devices of a problem with one accelerator
// Limit of units and readers visited for reasons: each piece that moved is scored once with all others, so
// that many pieces in a large graph would take longer than the placement itself.
constexpr std::uint64_t kMaxVisits = 50'000'000;

// The placement of one accelerator.
struct PlacedOnOne {
  PerNode<std::uint32_t> unit_of;
  GraphProblem made;
  DevicePlacement placement;

  DeviceIndex device(NodeId node) const { return placement.devices[unit_of[node]]; }
};

PlacedOnOne place_on_one(const Graph& graph, const Fusions& fusions, const PlaceRequest& request) {
  PlacedOnOne placed{PerNode<std::uint32_t>(graph.node_count()), {}, {}};
  const Contraction units(graph, fusions);
  for (const NodeId node : graph.nodes()) placed.unit_of[node] = units.unit_of(node);
  const Machine& machine = request.latency.machine;
  placed.made = graph_problem({.graph = graph,
                               .unit_of = placed.unit_of,
                               .unit_count = units.unit_count(),
                               .accepted = std::span(&fusions.acc.nodes, 1),
                               .required = request.required,
                               .times = request.latency.times,
                               .machines = std::span(&machine, 1),
                               .host_launch_us = machine.cpu_launch_us,
                               .residency = request.latency.residency,
                               .ties_non_tensors = !request.allow_non_tensor});
  placed.placement = request.found == nullptr
                         ? find_placement(placed.made.problem)
                         : request.found->find(placed.made.problem, placed.unit_of);
  return placed;
}

// What units that moved to the CPU would add on the accelerator.
struct MoveSum {
  float link_us = 0;
  float compute_us = 0;
  float launch_us = 0;
};

double sum_of(const std::vector<double>& costs) {
  return std::accumulate(costs.begin(), costs.end(), 0.0);
}

// The units that moved, as connected pieces, with the sum of each. A node alone has no sum that explains it: a
// chain that moved together saved two crossings, and each of its nodes back on the accelerator by itself
// would add two.
class MoveSums {
 public:
  // `untied` is the problem as if units were tied to no others.
  MoveSums(const DeviceProblem& untied, const PlacedOnOne& placed)
      : problem_(untied),
        devices_(placed.placement.devices),
        first_(placed.placement.first),
        is_unknown_(placed.made.is_unknown),
        scorer_(untied) {
    find_pieces();
    const std::uint64_t visits = scorer_.size() * (pieces_.size() + 1);
    if (visits > kMaxVisits) make_one_piece();
    const DeviceScore without = score();
    for (const auto& piece : pieces_) sums_.push_back(sum_of_piece(piece, without));
  }

  bool has_moved(std::uint32_t unit) const {
    return devices_[unit] == kCpu && problem_.accepts(kAcc, unit) && problem_.accepts(kCpu, unit);
  }
  const MoveSum& of(std::uint32_t unit) const { return sums_[piece_of_[unit]]; }

 private:
  void find_pieces() {
    Pieces connected(problem_.unit_count());
    std::vector<std::uint8_t> counts(problem_.unit_count(), 0);
    for (std::uint32_t unit = 0; unit < counts.size(); ++unit) {
      if (!has_moved(unit)) continue;
      counts[unit] = 1;
      for (const std::uint32_t reader : scorer_.unit_readers().of(unit)) {
        if (has_moved(reader)) connected.connect(unit, reader);
      }
    }
    pieces_ = connected.of(counts);
    piece_of_.assign(problem_.unit_count(), 0);
    for (std::uint32_t piece = 0; piece < pieces_.size(); ++piece) {
      for (const std::uint32_t unit : pieces_[piece]) piece_of_[unit] = piece;
    }
  }

  void make_one_piece() {
    std::vector<std::uint32_t> all;
    for (const auto& piece : pieces_) all.insert(all.end(), piece.begin(), piece.end());
    pieces_.assign(1, std::move(all));
    std::ranges::fill(piece_of_, 0);
  }

  const DeviceScore& score() {
    scorer_.cost(devices_, std::numeric_limits<double>::infinity(), first_);
    return scorer_.last_score();
  }

  MoveSum sum_of_piece(const std::vector<std::uint32_t>& piece, const DeviceScore& without) {
    for (const std::uint32_t unit : piece) devices_[unit] = kAcc;
    const DeviceScore& with = score();
    for (const std::uint32_t unit : piece) devices_[unit] = kCpu;
    const auto change = [](const std::vector<double>& after, const std::vector<double>& before) {
      return static_cast<float>(sum_of(after) - sum_of(before));
    };
    const bool is_known =
        std::ranges::none_of(piece, [&](std::uint32_t unit) { return is_unknown_[unit] != 0; });
    return {change(with.link_costs, without.link_costs),
            is_known ? change(with.unit_costs, without.unit_costs)
                     : std::numeric_limits<float>::infinity(),
            change(with.launch_costs, without.launch_costs)};
  }

  const DeviceProblem& problem_;
  Devices devices_;
  const DeviceIndex first_;
  const std::vector<std::uint8_t>& is_unknown_;  // by unit
  DeviceScorer scorer_;
  std::vector<std::vector<std::uint32_t>> pieces_;
  std::vector<std::uint32_t> piece_of_;  // by unit
  std::vector<MoveSum> sums_;            // by piece
};

// The fusions without the groups that are now on the CPU.
Fusions without_moved_groups(const Graph& graph, Fusions fusions) {
  Fusions kept;
  kept.group_of = PerNode<GroupId>(graph.node_count(), kNone<GroupId>);
  kept.member_begin.push_back(0);
  for (std::size_t i = 0; i < fusions.group_count(); ++i) {
    const auto members = fusions.group(id_at<GroupId>(i));
    if (!fusions.acc.nodes.contains(members.front())) continue;
    const auto id = id_at<GroupId>(kept.group_count());
    for (const NodeId member : members) kept.group_of[member] = id;
    kept.members.insert(kept.members.end(), members.begin(), members.end());
    kept.member_begin.push_back(static_cast<std::uint32_t>(kept.members.size()));
  }
  kept.acc = std::move(fusions.acc);
  return kept;
}

std::optional<CapacityExceeded> unfit_of(const DeviceProblem& problem,
                                         const DevicePlacement& placement) {
  if (placement.score.penalty <= 0) return std::nullopt;
  const DeviceScore least = least_use(problem);
  return CapacityExceeded{.bytes = least.peak_bytes, .parts = least.parts};
}

// A shape computation whose readers are all on the CPU follows them.
Reason reason_of(const Graph& graph, NodeId node, const Fusions& fusions,
                 const PlaceRequest& request, const MoveSum& sum) {
  const auto readers = graph.readers(node);
  const bool follows = request.shape_computations != nullptr &&
                       request.shape_computations->contains(node) && !readers.empty() &&
                       std::ranges::none_of(readers, [&](NodeId reader) {
                         return fusions.acc.nodes.contains(reader);
                       });
  if (follows) return {.code = ReasonCode::host_shape, .because = readers.front()};
  return {.code = ReasonCode::costs_more,
          .link_us = sum.link_us,
          .compute_us = sum.compute_us,
          .launch_us = sum.launch_us};
}

PlacementNumbers numbers_of(const GraphProblem& made, const DevicePlacement& placement) {
  return {.total_us = placement.score.total,
          .bound_us = placement.bound,
          .proof = placement.proof,
          .start = placement.first == kAcc ? StartSide::acc : StartSide::cpu,
          .launches = placement.rounds.acc_parts,
          .unknown_times = made.unknown_times,
          .unknown_sizes = made.unknown_sizes};
}

// What the placement gains, of the time with all on the accelerator that may be there. 1 when that is
// more than the accelerator can hold: then nodes have to move, whatever it gains. Ties to others do not count:
// with all on one side none of them is cut.
double gain_of(const DeviceProblem& untied, const DevicePlacement& placement) {
  DeviceScorer scorer(untied);
  const double all =
      scorer.cost(place_in_order(untied, {kAcc}), std::numeric_limits<double>::infinity(), kCpu);
  if (scorer.last_score().penalty > 0 || all <= 0) return 1;
  return 1 - placement.score.total / all;
}

}  // namespace

Reason lacks_memory(const Machine& machine) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint32_t>::max();
  const std::uint64_t kib = (machine.acc_memory.value_or(0) + 1023) / 1024;
  return {.code = ReasonCode::costs_more,
          .elsewhere = Elsewhere::memory,
          .size = static_cast<std::uint32_t>(std::min(kib, kMost))};
}

PlacementNumbers best_placement(const Graph& graph, const Fusions& fusions,
                                const PlaceRequest& request) {
  const PlacedOnOne placed = place_on_one(graph, fusions, request);
  return numbers_of(placed.made, placed.placement);
}

PlacedByCost place_by_cost(const Graph& graph, Fusions fusions, const PlaceRequest& request) {
  const PlacedOnOne on_one = place_on_one(graph, fusions, request);
  DeviceProblem untied = on_one.made.problem;
  untied.unit_costs = on_one.made.untied_costs;
  untied.stays_with.clear();
  PlacedByCost placed;
  placed.numbers = numbers_of(on_one.made, on_one.placement);
  placed.numbers.gain = gain_of(untied, on_one.placement);
  placed.numbers.is_too_little = placed.numbers.gain < request.min_gain;
  if (placed.numbers.is_too_little) {
    placed.numbers.start = StartSide::reference;
    placed.fusions = std::move(fusions);
    return placed;
  }
  if (request.latency.machine.acc_memory) {
    placed.unfit = unfit_of(on_one.made.problem, on_one.placement);
  }
  const MoveSums sums(untied, on_one);
  const Devices& without_limits = on_one.placement.without_limits;
  std::vector<NodeId> moved;
  for (const NodeId node : graph.nodes()) {
    if (on_one.device(node) != kCpu || !fusions.acc.nodes.contains(node)) continue;
    fusions.acc.nodes.erase(node);
    moved.push_back(node);
  }
  placed.numbers.moved = moved.size();
  for (const NodeId node : moved) {
    const std::uint32_t unit = on_one.unit_of[node];
    if (!without_limits.empty() && without_limits[unit] == kAcc) {
      fusions.acc.reasons[node] = lacks_memory(request.latency.machine);
      continue;
    }
    const MoveSum sum = sums.has_moved(unit) ? sums.of(unit) : MoveSum{};
    fusions.acc.reasons[node] = reason_of(graph, node, fusions, request, sum);
  }
  placed.fusions = without_moved_groups(graph, std::move(fusions));
  return placed;
}

// ---- place on targets ----
//
// Steps:
// 1. units: groups of all targets, ties by data that is no tensor, sets;
// 2. the placement problem of the graph: graph_problem();
// 3. find_placement().

namespace {

bool may_run_on_any(const TargetPlaceRequest& request, NodeId node) {
  return std::ranges::any_of(request.alone,
                             [&](const Fusions& alone) { return alone.acc.nodes.contains(node); });
}

// What moves as one, of all nodes. One accelerator has ties instead of such units (graph_problem): there two sides
// may keep tied nodes in different runs, where with several targets a unit is in one run.
Fusions units_of_all(const Graph& graph, const TargetPlaceRequest& request) {
  NodeGroups joined(graph);
  for (const Fusions& alone : request.alone) {
    for (std::size_t i = 0; i < alone.group_count(); ++i) {
      joined.add_group(alone.group(id_at<GroupId>(i)));
    }
  }
  for (const auto& set : request.sets) joined.add_group(set);
  for (const NodeId node : graph.nodes()) {
    const bool is_tied = !request.allow_non_tensor && makes_non_tensor(graph, node) &&
                         may_run_on_any(request, node) && !graph.readers(node).empty();
    if (!is_tied) continue;
    for (const NodeId reader : graph.readers(node)) joined.tie(node, reader);
    joined.make_group(node);
  }
  return std::move(joined).settle_all();
}

// By target: with the parts that it may have at most.
std::vector<Machine> machines_of(const TargetPlaceRequest& request) {
  std::vector<Machine> machines;
  for (std::size_t i = 0; i < request.targets.size(); ++i) {
    Machine machine = request.latency.machine_with(i);
    const std::size_t most = request.targets[i].most_kept;
    machine.most_acc_parts = std::min(machine.most_acc_parts.value_or(most), most);
    machines.push_back(std::move(machine));
  }
  return machines;
}

}  // namespace

NodeRounds rounds_by_node(const Graph& graph, const Contraction& units, const Rounds& rounds) {
  NodeRounds by_node{rounds.devices, PerNode<std::uint32_t>(graph.node_count()),
                     rounds.least_acc_parts};
  for (const NodeId node : graph.nodes()) {
    by_node.part_of[node] = rounds.part_of[units.unit_of(node)];
  }
  return by_node;
}

TargetsPlaced place_on_targets(const Graph& graph, const TargetPlaceRequest& request) {
  const Fusions fusions = units_of_all(graph, request);
  const Contraction units(graph, fusions);
  PerNode<std::uint32_t> unit_of(graph.node_count());
  for (const NodeId node : graph.nodes()) unit_of[node] = units.unit_of(node);
  std::vector<NodeSet> accepted;
  for (const Fusions& alone : request.alone) accepted.push_back(alone.acc.nodes);
  NodeSet required = request.required == nullptr ? NodeSet(graph.node_count()) : *request.required;
  for (std::size_t target = 0; target < request.required_on.size(); ++target) {
    for (const NodeId node : request.required_on[target]) {
      if (!request.alone[target].acc.nodes.contains(node)) continue;
      required.insert(node);
      for (std::size_t other = 0; other < accepted.size(); ++other) {
        if (other != target) accepted[other].erase(node);
      }
    }
  }
  const std::vector<Machine> machines = machines_of(request);
  const GraphProblemInput input{
      .graph = graph,
      .unit_of = unit_of,
      .unit_count = units.unit_count(),
      .accepted = accepted,
      .required = &required,
      .times = request.latency.times,
      .machines = machines,
      .links = {request.latency.links.begin(), request.latency.links.end()},
      .host_launch_us = request.latency.machine.cpu_launch_us,
      .residency = request.latency.residency};
  GraphProblem made = graph_problem(input);
  DeviceProblem& problem = made.problem;
  if (!request.energy.empty()) {
    problem =
        energy_problem(std::move(problem), unit_work(input, node_costs(graph)), request.energy);
  }
  // A try is charged a look at all units, although most are refused by less. Where no memory is short, 7 tenths of
  // the steps are enough: of 36 graphs of 200 to 1,700 nodes on two targets, three placements then cost up
  // to 0.06% more, and all take 26% less time together. With half of the steps they cost up to 0.24% more.
  DeviceEffort effort;
  if (!has_memory(problem)) effort.steps = effort.steps / 10 * 7;
  const DevicePlacement placement = request.found == nullptr
                                        ? find_placement(problem, effort)
                                        : request.found->find(problem, unit_of, effort);
  TargetsPlaced placed;
  placed.unfit = unfit_of(problem, placement);
  const auto by_node = [&](const Devices& devices) {
    PerNode<DeviceIndex> device_of(graph.node_count());
    for (const NodeId node : graph.nodes()) device_of[node] = devices[unit_of[node]];
    return device_of;
  };
  placed.device_of = by_node(placement.devices);
  placed.rounds = rounds_by_node(graph, units, placement.rounds);
  if (!placement.without_limits.empty()) placed.without_limits = by_node(placement.without_limits);
  for (std::size_t i = 0; i < fusions.group_count(); ++i) {
    const auto members = fusions.group(id_at<GroupId>(i));
    placed.groups.emplace_back(members.begin(), members.end());
  }
  placed.numbers = numbers_of(made, placement);
  return placed;
}

}  // namespace cleave
