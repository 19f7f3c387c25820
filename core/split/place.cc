// Placement by cost as a pass of the splitter, on one target or several.

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "core/cost/cost.h"
#include "core/devices/devices.h"
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

constexpr auto kHost = PlacementProblem::kHost;
constexpr std::uint64_t kMaxVisits = 50'000'000;  // limit of units and readers visited for reasons

class ProblemMaker {
 public:
  ProblemMaker(const Graph& graph, const Fusions& fusions, const PlaceRequest& request)
      : graph_(graph), fusions_(fusions), request_(request), units_(graph, fusions) {}

  PlacementProblem run() {
    const Machine& machine = request_.latency.machine;
    problem_.launch_us = machine.launch_us.value_or(0);
    problem_.cpu_launch_us = machine.cpu_launch_us;
    problem_.residency = request_.latency.residency;
    problem_.duplex = machine.duplex;
    if (machine.most_acc_parts) problem_.most_parts = *machine.most_acc_parts;
    add_units();
    for (const ValueId value : graph_.inputs()) add_value(value);
    for (const NodeId node : graph_.nodes()) {
      for (const ValueId value : graph_.outputs(node)) add_value(value);
    }
    return std::move(problem_);
  }

  const Contraction& units() const { return units_; }
  // By unit: 1 if it may run on the accelerator, but a time of it is unknown.
  const std::vector<std::uint8_t>& is_unknown() const { return is_unknown_; }
  std::size_t unknown_times() const { return unknown_times_; }
  std::size_t unknown_sizes() const { return unknown_sizes_; }

 private:
  void add_units() {
    const DeviceTimes& cpu = request_.latency.times.cpu;
    const DeviceTimes& acc = request_.latency.times.acc;
    const std::size_t count = units_.unit_count();
    problem_.cpu_us.assign(count, 0);
    problem_.acc_us.assign(count, 0);
    problem_.allowed.assign(count, AllowedSides::both);
    is_unknown_.assign(count, 0);
    for (const NodeId node : graph_.nodes()) {
      const std::uint32_t unit = units_.unit_of(node);
      const bool may_move = fusions_.acc.nodes.contains(node);
      if (!may_move) {
        problem_.allowed[unit] = AllowedSides::cpu;
      } else if (request_.required != nullptr && request_.required->contains(node)) {
        problem_.allowed[unit] = AllowedSides::acc;
      }
      const auto on_cpu = cpu.of(node);
      const auto on_acc = acc.of(node);
      if (!on_cpu || (may_move && !on_acc)) {
        ++unknown_times_;
        is_unknown_[unit] = may_move ? 1 : 0;
        continue;
      }
      problem_.cpu_us[unit] += *on_cpu;
      problem_.acc_us[unit] += on_acc.value_or(0);
    }
  }

  // True when the value may not be read on the other side. As in the acc finder, the rule covers
  // all outputs of a node that makes any non-tensor.
  bool is_tied(ValueId value) const {
    const Value& record = graph_.value(value);
    if (request_.allow_non_tensor || record.kind != ValueKind::node_output) return false;
    const auto outputs = graph_.outputs(record.producer);
    return std::any_of(outputs.begin(), outputs.end(),
                       [&](ValueId output) { return !graph_.value(output).is_tensor(); });
  }

  void add_value(ValueId value) {
    const Value& record = graph_.value(value);
    const bool is_input = record.kind == ValueKind::input;
    const std::uint32_t maker = is_input ? kHost : units_.unit_of(record.producer);
    readers_.clear();
    for (const NodeId user : graph_.users(value)) {
      if (units_.unit_of(user) != maker) readers_.push_back(units_.unit_of(user));
    }
    std::sort(readers_.begin(), readers_.end());
    readers_.erase(std::unique(readers_.begin(), readers_.end()), readers_.end());
    const bool host_reads = graph_.is_graph_output(value) && !is_input;
    if (readers_.empty() && !host_reads) return;
    problem_.producer.push_back(maker);
    for (const std::uint32_t reader : readers_) problem_.readers.add(reader);
    problem_.readers.end_list();
    problem_.crossing_us.push_back(crossing_us(value));
    problem_.host_reads.push_back(host_reads ? 1 : 0);
  }

  double crossing_us(ValueId value) {
    if (is_tied(value) && touches_acc(value)) return PlacementProblem::kTied;
    const auto bytes = value_bytes(graph_, value);
    if (!bytes && graph_.value(value).is_tensor()) ++unknown_sizes_;
    const double bandwidth = request_.latency.machine.link_bytes_per_second;
    return static_cast<double>(bytes.value_or(0)) / bandwidth * 1e6;
  }

  // A tie between CPU nodes does not matter.
  bool touches_acc(ValueId value) const {
    return fusions_.acc.nodes.contains(graph_.value(value).producer);
  }

  const Graph& graph_;
  const Fusions& fusions_;
  const PlaceRequest& request_;
  Contraction units_;
  PlacementProblem problem_;
  std::vector<std::uint32_t> readers_;  // of the current value
  std::vector<std::uint8_t> is_unknown_;
  std::size_t unknown_times_ = 0;
  std::size_t unknown_sizes_ = 0;
};

// What units that moved to the CPU would add on the accelerator.
struct MoveSum {
  float link_us = 0;
  float compute_us = 0;
  float launch_us = 0;
};

// The units that moved, as connected pieces, with the sum of each.
class MoveSums {
 public:
  MoveSums(const PlacementProblem& problem, const Placement& placement,
           const std::vector<std::uint8_t>& is_unknown)
      : problem_(problem), placement_(placement), is_unknown_(is_unknown), scorer_(problem) {
    find_pieces();
    const std::uint64_t visits = scorer_.size() * (pieces_.size() + 1);
    if (visits > kMaxVisits) make_one_piece();
    Sides sides = placement_.sides;
    for (const auto& piece : pieces_) sums_.push_back(sum_of(piece, sides));
  }

  bool has_moved(std::uint32_t unit) const {
    return problem_.allowed[unit] == AllowedSides::both && placement_.sides[unit] == 0;
  }
  const MoveSum& of(std::uint32_t unit) const { return sums_[piece_of_[unit]]; }

 private:
  void find_pieces() {
    std::vector<std::uint32_t> parent(problem_.unit_count());
    std::iota(parent.begin(), parent.end(), 0U);
    const auto find = [&](std::uint32_t unit) {
      while (parent[unit] != unit) unit = parent[unit] = parent[parent[unit]];
      return unit;
    };
    for (std::uint32_t value = 0; value < problem_.value_count(); ++value) {
      const std::uint32_t maker = problem_.producer[value];
      if (maker == kHost || !has_moved(maker)) continue;
      for (const std::uint32_t reader : problem_.readers.of(value)) {
        if (!has_moved(reader)) continue;
        const std::uint32_t a = find(maker);
        const std::uint32_t b = find(reader);
        parent[std::max(a, b)] = std::min(a, b);
      }
    }
    piece_of_.assign(problem_.unit_count(), 0);
    for (std::uint32_t unit = 0; unit < parent.size(); ++unit) {
      if (!has_moved(unit)) continue;
      const std::uint32_t first = find(unit);
      if (first == unit) {
        piece_of_[unit] = static_cast<std::uint32_t>(pieces_.size());
        pieces_.emplace_back();
      }
      piece_of_[unit] = piece_of_[first];
      pieces_[piece_of_[unit]].push_back(unit);
    }
  }

  void make_one_piece() {
    std::vector<std::uint32_t> all;
    for (const auto& piece : pieces_) all.insert(all.end(), piece.begin(), piece.end());
    pieces_.assign(1, std::move(all));
    std::fill(piece_of_.begin(), piece_of_.end(), 0);
  }

  // Leaves `sides` unchanged.
  MoveSum sum_of(const std::vector<std::uint32_t>& piece, Sides& sides) {
    for (const std::uint32_t unit : piece) sides[unit] = 1;
    const PlacementScore with = scorer_.score(sides, placement_.start);
    for (const std::uint32_t unit : piece) sides[unit] = 0;
    const PlacementScore& without = placement_.score;
    const auto change = [](double after, double before) {
      return static_cast<float>(after - before);
    };
    const bool is_known = std::none_of(piece.begin(), piece.end(),
                                       [&](std::uint32_t unit) { return is_unknown_[unit] != 0; });
    const float compute_us =
        is_known ? change(with.cpu_us + with.acc_us, without.cpu_us + without.acc_us)
                 : std::numeric_limits<float>::infinity();
    return {change(with.link_us, without.link_us), compute_us,
            change(with.launch_us, without.launch_us)};
  }

  const PlacementProblem& problem_;
  const Placement& placement_;
  const std::vector<std::uint8_t>& is_unknown_;  // by unit
  PlacementScorer scorer_;
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

// A shape computation whose readers are all on the CPU follows them.
Reason reason_of(const Graph& graph, NodeId node, const Fusions& fusions,
                 const PlaceRequest& request, const MoveSum& sum) {
  const auto readers = graph.readers(node);
  const bool follows = request.shape_computations != nullptr &&
                       request.shape_computations->contains(node) && !readers.empty() &&
                       std::none_of(readers.begin(), readers.end(), [&](NodeId reader) {
                         return fusions.acc.nodes.contains(reader);
                       });
  if (follows) return {.code = ReasonCode::host_shape, .because = readers.front()};
  return {.code = ReasonCode::costs_more,
          .link_us = sum.link_us,
          .compute_us = sum.compute_us,
          .launch_us = sum.launch_us};
}

PlacementNumbers numbers_of(const ProblemMaker& maker, const Placement& placement) {
  const bool starts_on_acc = placement.start == PlacementScorer::Start::acc;
  return {.total_us = placement.score.total_us,
          .bound_us = placement.bound_us,
          .proof = placement.proof,
          .start = starts_on_acc ? StartSide::acc : StartSide::cpu,
          .launches = placement.score.launches,
          .moves = placement.moves,
          .unknown_times = maker.unknown_times(),
          .unknown_sizes = maker.unknown_sizes()};
}

// What the placement gains, of the time with all on the accelerator that may be there. 1 when that is
// more than the accelerator can hold.
double gain_of(const PlacementProblem& problem, const Placement& placement) {
  Sides sides(problem.unit_count());
  for (std::size_t unit = 0; unit < sides.size(); ++unit) {
    sides[unit] = problem.allowed[unit] == AllowedSides::cpu ? 0 : 1;
  }
  const PlacementScore all = PlacementScorer(problem).score(sides);
  if (all.penalty_us > 0 || all.total_us <= 0) return 1;
  return 1 - placement.score.total_us / all.total_us;
}

Placement placement_of(const PlacementProblem& problem, FoundPlacements* found) {
  return found == nullptr ? find_placement(problem) : found->find(problem);
}

}  // namespace

PlacementNumbers best_placement(const Graph& graph, const Fusions& fusions,
                                const PlaceRequest& request) {
  ProblemMaker maker(graph, fusions, request);
  const PlacementProblem problem = maker.run();
  return numbers_of(maker, placement_of(problem, request.found));
}

PlacedByCost place_by_cost(const Graph& graph, Fusions fusions, const PlaceRequest& request) {
  ProblemMaker maker(graph, fusions, request);
  const PlacementProblem problem = maker.run();
  const Placement placement = placement_of(problem, request.found);
  PlacedByCost placed;
  placed.numbers = numbers_of(maker, placement);
  placed.numbers.gain = gain_of(problem, placement);
  placed.numbers.is_too_little = placed.numbers.gain < request.min_gain;
  if (placed.numbers.is_too_little) {
    placed.numbers.start = StartSide::reference;
    placed.fusions = std::move(fusions);
    return placed;
  }
  const MoveSums sums(problem, placement, maker.is_unknown());
  std::vector<NodeId> moved;
  for (const NodeId node : graph.nodes()) {
    const bool is_on_cpu = placement.sides[maker.units().unit_of(node)] == 0;
    if (!is_on_cpu || !fusions.acc.nodes.contains(node)) continue;
    fusions.acc.nodes.erase(node);
    moved.push_back(node);
  }
  placed.numbers.moved = moved.size();
  for (const NodeId node : moved) {
    const std::uint32_t unit = maker.units().unit_of(node);
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
// 2. the placement problem of the graph (core/devices/graph_problem.h);
// 3. find_device_placement().

namespace {

bool may_run_on_any(const TargetPlaceRequest& request, NodeId node) {
  return std::any_of(request.alone.begin(), request.alone.end(),
                     [&](const Fusions& alone) { return alone.acc.nodes.contains(node); });
}

bool makes_non_tensor(const Graph& graph, NodeId node) {
  const auto outputs = graph.outputs(node);
  return std::any_of(outputs.begin(), outputs.end(),
                     [&](ValueId output) { return !graph.value(output).is_tensor(); });
}

// What moves as one, of all nodes.
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

PlacementProof proof_of(DeviceProof proof) {
  switch (proof) {
    case DeviceProof::bound:
      return PlacementProof::cut;
    case DeviceProof::exhaustive:
      return PlacementProof::exhaustive;
    case DeviceProof::none:
      break;
  }
  return PlacementProof::none;
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
      .residency = request.latency.residency};
  auto [problem, unknown_times, unknown_sizes] = graph_problem(input);
  if (!request.energy.empty()) {
    problem =
        energy_problem(std::move(problem), unit_work(input, node_costs(graph)), request.energy);
  }
  const DevicePlacement placement = find_device_placement(problem);
  TargetsPlaced placed;
  if (placement.score.penalty > 0) {
    const DeviceScore least = least_use(problem);
    placed.unfit = CapacityExceeded{.bytes = least.peak_bytes, .parts = least.parts};
  }
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
  placed.numbers.total_us = placement.score.total;
  placed.numbers.bound_us = placement.bound;
  placed.numbers.proof = proof_of(placement.proof);
  placed.numbers.launches = placement.rounds.acc_parts;
  placed.numbers.unknown_times = unknown_times;
  placed.numbers.unknown_sizes = unknown_sizes;
  return placed;
}

}  // namespace cleave
