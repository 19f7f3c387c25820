// The main job, for one target or several. Steps:
// 1. judge each node by the lists of each target;
// 2. ask the targets in order which of the nodes that are left they take, and what moves as one there; or
//    place all by cost (place.cc);
// 3. make groups free of cycles; one that lies on two devices goes to the first target that takes all
//    of it;
// 4. runs; those that are too small, beyond a limit or too many move on to the next target or the CPU;
// 5. runs reach back for nodes that only they use; then they are the partitions, whose boundaries and
//    reasons are gathered.
//
//   supported nodes > nodes of a target > groups > runs > partitions > boundaries
//
// One target differs where its answer is exact or that of the reference: runs alternate between two
// sides, so that what moves on joins its neighbours on the CPU and no runs are found anew.
#include "core/split/split.h"

#include <algorithm>
#include <cassert>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "core/devices/devices.h"
#include "core/lists/support.h"
#include "core/split/groups.h"

namespace cleave {

namespace {

using Sets = std::span<const std::vector<NodeId>>;

// Reports progress after each step, unless that is null.
class Passed {
 public:
  explicit Passed(const Progress* progress) : progress_(progress) { (*this)(0); }
  void operator()(std::uint64_t passes) const {
    tell(progress_, {"splitting", "passes", passes, 6});
  }

 private:
  const Progress* progress_;
};

std::span<const SupportList> lists_of(const SplitInput& input, const Target& target) {
  return input.lists.subspan(target.first_list, target.end_list - target.first_list);
}

// What the lists of each target say. Reasons name lists by their place among those of one target, and then
// among those of all.
Result<std::vector<Support>> judge_for_each(const SplitInput& input,
                                            std::span<const Target> targets) {
  std::vector<Support> supports;
  for (const Target& target : targets) {
    auto support = judge_by_lists(input.graph, lists_of(input, target), input.facts);
    if (!support) return std::move(support).error();
    const auto add = static_cast<std::uint16_t>(target.first_list);
    const auto shift = [&](std::uint16_t& list) { list = static_cast<std::uint16_t>(list + add); };
    if (add > 0) {
      for (const NodeId node : input.graph.nodes()) shift(support->reasons[node].list);
      for (UncheckedNode& node : support->unchecked) shift(node.list);
      for (PatternMatch& match : support->patterns.matches) shift(match.list);
    }
    supports.push_back(*std::move(support));
  }
  return supports;
}

// What the ways to make a split have in common.
struct Request {
  const SplitInput& input;
  const SplitOptions& options;
  std::span<const Target> targets;
  // The only one that takes part; nullopt: there are several, or what is asked for needs the numbers of all.
  std::optional<std::size_t> only;
  const LatencyInput& latency;  // of all targets, or of the only one

  bool is_for_one() const { return only.has_value(); }
  // The place of a target in `latency`.
  std::size_t place(std::size_t target) const { return is_for_one() ? 0 : target; }
};

// Whether the caller has placed the nodes, as those of phases are together.
bool is_decided(const SplitInput& input) {
  return input.found != nullptr && input.found->is_decided();
}

// The least gain for which nodes move: what was asked for, else none where all times are measured.
double min_gain_of(const Request& request, const NodeSet& acc) {
  // Estimates are wrong by more than that, so a smaller gain says nothing, and every node that moves makes a
  // plan harder to read. A guess.
  constexpr double kOfEstimates = 0.03;
  if (is_decided(request.input)) return std::numeric_limits<double>::lowest();
  if (request.options.min_gain) return *request.options.min_gain;
  const TargetTimes& times = request.latency.times;
  const bool is_measured = std::ranges::all_of(request.input.graph.nodes(), [&](NodeId node) {
    return times.cpu.origins[node] == TimeOrigin::measured &&
           (!acc.contains(node) || times.acc.origins[node] == TimeOrigin::measured);
  });
  return is_measured ? 0 : kOfEstimates;
}

class Splitter {
 public:
  Splitter(const Request& request, std::vector<Support> supports, Sets sets)
      : request_(request),
        input_(request.input),
        graph_(request.input.graph),
        options_(request.options),
        sets_(sets),
        host_(static_cast<DeviceIndex>(request.targets.size())),
        device_of_(graph_.node_count(), host_),
        qdq_groups_(qdq_groups_asked_for(
            graph_, options_,
            request.only ? lists_of(input_, request.targets[*request.only]) : input_.lists)) {
    acc_found_.nodes = NodeSet(graph_.node_count());
    host_shapes_.nodes = NodeSet(graph_.node_count());
    for (std::size_t target = 0; target < host_; ++target) {
      const bool is_asked = !request.only || *request.only == target;
      if (is_asked) asked_.push_back(target);
      verdicts_.push_back({std::move(supports[target]), {}, request.targets[target].min_acc_size});
      if (!is_asked) verdicts_.back().reasons = verdicts_.back().support.reasons;
    }
  }

  // Nodes go where an inference takes the least time or energy if `is_by_cost`; else the first target
  // that takes them has them.
  Result<Split> run(bool is_by_cost, const Passed& passed) && {
    std::optional<NodeRounds> rounds;  // that the placement has found
    if (is_by_cost && !request_.is_for_one()) {
      rounds = place_on_all();
    } else {
      for (const std::size_t target : asked_) ask(target);
    }
    passed(2);
    if (request_.is_for_one()) {
      if (is_by_cost) place_on_only();
      close_groups_of_only();
    } else if (!rounds) {
      close_groups();
    }
    passed(3);
    rounds ? take_rounds(*rounds) : make_runs();
    if (options_.move_non_tensor) move_non_tensors();
    found_.subgraphs = subgraphs_;
    if (!request_.is_for_one()) found_.count_from_other_side = subgraphs_.count();
    // Small runs go before limits cut: a piece of a large run is small because its list wants it so. Limits
    // come before packing, which keeps to them, and both before the conditions on a whole partition, which
    // are about the nodes that it has in the end.
    find_min_sizes();
    while (move_on(small_runs())) {
    }
    for (bool is_settled = false; !is_settled;) {
      cut_at_limits();
      pack();
      // With several targets what moves on changes the runs of others, which are found anew and cut again.
      // Each turn moves a run on to a later device, so there is a last one.
      if (move_on(failing_runs()) && !request_.is_for_one()) continue;
      run_count_ = subgraphs_.count();
      // If the number of runs is limited, the most valuable stay. This comes before the extension, in which
      // runs reach back for nodes that only they use: it may bring back some of the others.
      is_settled = !move_runs_beyond_number() || request_.is_for_one();
    }
    passed(4);
    if (auto extended = extend(); !extended) return std::move(extended).error();
    passed(5);
    return finish();
  }

 private:
  // ---- step 2 ----

  // The nodes that the target may run, with their groups, of those that `support` accepts. With
  // --host-shapes, shape computations follow their users first. Which nodes can run there without
  // non-tensor data crossing a link comes last: it depends on where the makers and readers of sizes are.
  Fusions run_alone(const Support& support) {
    HostShapes shapes;
    if (options_.host_shapes) {
      shapes = follow_shape_users(graph_, support);
      host_shapes_.to_acc += shapes.to_acc;
      host_shapes_.to_cpu += shapes.to_cpu;
    }
    const NodeSet* const sizes = options_.host_shapes ? &shapes.nodes : nullptr;
    AccNodes acc =
        find_acc_nodes(graph_, options_.host_shapes ? shapes.support : support, options_, sizes);
    for (const NodeId node : graph_.nodes()) {
      if (options_.host_shapes && shapes.nodes.contains(node)) host_shapes_.nodes.insert(node);
      if (acc.nodes.contains(node)) acc_found_.nodes.insert(node);
    }
    return find_groups(graph_, std::move(acc), {qdq_groups_, support.patterns, sizes}, options_);
  }

  void ask(std::size_t target) {
    const Support& all = verdicts_[target].support;
    if (target == asked_.front()) {
      fusions_ = run_alone(all);
    } else {
      Support left = all;  // what no target before has taken
      for (const NodeId node : graph_.nodes()) {
        if (device_of_[node] == host_) continue;
        left.supported.erase(node);
        left.reasons[node] = {};
      }
      fusions_ = run_alone(left);
    }
    if (request_.is_for_one()) return;
    for (const NodeId node : graph_.nodes()) {
      if (fusions_.acc.nodes.contains(node)) device_of_[node] = static_cast<DeviceIndex>(target);
    }
    verdicts_[target].reasons = std::move(fusions_.acc.reasons);
    add_groups_of(fusions_);
  }

  void add_groups_of(const Fusions& fusions) {
    for (std::size_t i = 0; i < fusions.group_count(); ++i) {
      const auto members = fusions.group(id_at<GroupId>(i));
      groups_.emplace_back(members.begin(), members.end());
    }
  }

  // Of the nodes that the only target may run, those stay that make an inference faster.
  void place_on_only() {
    NodeSet required = input_.required == nullptr ? NodeSet(graph_.node_count()) : *input_.required;
    if (*request_.only < input_.required_on.size()) {
      for (const NodeId node : input_.required_on[*request_.only]) required.insert(node);
    }
    const double min_gain = min_gain_of(request_, fusions_.acc.nodes);
    PlacedByCost placed =
        place_by_cost(graph_, std::move(fusions_),
                      {.latency = request_.latency,
                       .allow_non_tensor = options_.allow_non_tensor,
                       .required = &required,
                       .shape_computations = options_.host_shapes ? &host_shapes_.nodes : nullptr,
                       .min_gain = min_gain,
                       .found = input_.found});
    fusions_ = std::move(placed.fusions);
    placement_ = placed.numbers;
    unfit_ = std::move(placed.unfit);
  }

  // Returns the rounds of the placement if no group keeps it from being made: its search has compared orders
  // of rounds, and what it found is not searched again.
  std::optional<NodeRounds> place_on_all() {
    const LatencyInput& latency = request_.latency;
    std::vector<Fusions> alone;
    for (const TargetVerdicts& verdicts : verdicts_) alone.push_back(run_alone(verdicts.support));
    const bool is_for_energy = options_.place_goal == PlaceGoal::energy;
    const std::vector<EnergyNumbers> energy =
        is_for_energy ? energy_numbers(latency) : std::vector<EnergyNumbers>();
    TargetsPlaced placed = place_on_targets(graph_, {.latency = latency,
                                                     .energy = energy,
                                                     .targets = request_.targets,
                                                     .alone = alone,
                                                     .sets = sets_,
                                                     .required = input_.required,
                                                     .required_on = input_.required_on,
                                                     .allow_non_tensor = options_.allow_non_tensor,
                                                     .found = input_.found});
    device_of_ = std::move(placed.device_of);
    groups_ = std::move(placed.groups);
    placement_ = placed.numbers;
    unfit_ = std::move(placed.unfit);
    for (std::size_t target = 0; target < host_; ++target) {
      verdicts_[target].reasons = std::move(alone[target].acc.reasons);
      for (const NodeId node : graph_.nodes()) {
        const DeviceIndex device = device_of_[node];
        if (device == target || !alone[target].acc.nodes.contains(node)) continue;
        const bool wants_memory =
            placed.without_limits.size() > 0 && placed.without_limits[node] == target;
        Reason& reason = verdicts_[target].reasons[node];
        reason = {.code = ReasonCode::costs_more,
                  .elsewhere = is_for_energy ? Elsewhere::less_energy : Elsewhere::less_time};
        if (wants_memory) reason = lacks_memory(latency.machine_with(target));
      }
    }
    for (std::size_t other = 0; other < input_.required_on.size(); ++other) {
      for (const NodeId node : input_.required_on[other]) {
        if (device_of_[node] != other) continue;
        for (TargetVerdicts& verdicts : verdicts_) {
          Reason& reason = verdicts.reasons[node];
          if (reason.code == ReasonCode::costs_more) reason.elsewhere = Elsewhere::required;
        }
      }
    }
    const std::size_t placed_groups = groups_.size();
    close_groups();
    const bool is_as_placed =
        fusions_.group_count() == placed_groups && groups_.size() == placed_groups &&
        std::ranges::none_of(groups_,
                             [&](const auto& group) { return device_of_[group.front()] == host_; });
    if (!is_as_placed) return std::nullopt;
    return std::move(placed.rounds);
  }

  // ---- step 3 ----

  // Groups of one target are free of cycles; sets may join some of them.
  void close_groups_of_only() {
    if (!sets_.empty()) fusions_ = keep_sets_whole(graph_, sets_, std::move(fusions_));
    verdicts_[*request_.only].reasons = std::move(fusions_.acc.reasons);
    for (const NodeId node : graph_.nodes()) {
      if (fusions_.acc.nodes.contains(node))
        device_of_[node] = static_cast<DeviceIndex>(*request_.only);
    }
  }

  // Groups of two targets may need each other in a cycle, although those of each target do not.
  //
  // Groups that are on the CPU need not stay together, unless they are sets: so each step may free
  // nodes. It ends, since groups only grow, and what is on the CPU stays there.
  void close_groups() {
    const ReasonCode code = sets_.empty() ? ReasonCode::fusion_group : ReasonCode::shared_memory;
    for (bool is_closed = false; !is_closed;) {
      NodeGroups joined(graph_);
      for (const auto& group : groups_) {
        if (device_of_[group.front()] != host_) joined.add_group(group);
      }
      for (const auto& set : sets_) joined.add_group(set);
      fusions_ = std::move(joined).settle_all();
      is_closed = true;
      for (std::size_t i = 0; i < fusions_.group_count(); ++i) {
        const auto members = fusions_.group(id_at<GroupId>(i));
        const auto is_with_first = [&](NodeId node) {
          return device_of_[node] == device_of_[members.front()];
        };
        if (std::ranges::all_of(members, is_with_first)) continue;
        is_closed = false;
        gather(members, code);
        groups_.emplace_back(members.begin(), members.end());
      }
    }
  }

  // Puts a group that lies on several devices on the first that takes all of it.
  void gather(std::span<const NodeId> members, ReasonCode code) {
    const DeviceIndex to = first_to_take(members, 0);
    for (const NodeId member : members) {
      const DeviceIndex from = device_of_[member];
      if (from == to || from == host_) continue;
      const auto other =
          std::ranges::find_if(members, [&](NodeId node) { return device_of_[node] != from; });
      verdicts_[from].reasons[member] = {
          .code = code, .because = other == members.end() ? members.front() : *other};
    }
    for (const NodeId member : members) device_of_[member] = to;
  }

  // The first target from `first` on that takes all of the nodes, else the host. An only target is not asked
  // again: its lists may accept what non-tensor data or a group keeps off it.
  DeviceIndex first_to_take(std::span<const NodeId> nodes, std::size_t first) const {
    for (std::size_t target = first; target < host_ && !request_.is_for_one(); ++target) {
      if (takes_all(verdicts_[target].support, nodes)) return static_cast<DeviceIndex>(target);
    }
    return host_;
  }

  // ---- step 4 ----

  // Runs in which each node is on its device. With one target they alternate, as long as possible, and
  // start on the side that the placement assumes, unless the user chose one.
  void make_runs() {
    if (request_.is_for_one()) {
      SplitOptions options = options_;
      if (placement_ && options.start == StartSide::reference) options.start = placement_->start;
      found_ = split_subgraphs(graph_, fusions_, options);
      subgraphs_ = std::move(found_.subgraphs);
      for (const Device device : subgraphs_.devices) {
        subgraphs_.targets.push_back(device == Device::acc ? id_at<TargetId>(*request_.only)
                                                           : kNone<TargetId>);
      }
      return;
    }
    const Contraction units(graph_, fusions_);
    const auto count = static_cast<std::uint32_t>(units.unit_count());
    Adjacency readers;
    std::vector<DeviceIndex> devices;
    std::vector<std::uint32_t> seen(count, count);
    for (std::uint32_t unit = 0; unit < count; ++unit) {
      devices.push_back(device_of_[units.first(unit)]);
      for (const NodeId node : units.nodes(unit)) {
        const auto add = [&](NodeId later) {
          const std::uint32_t to = units.unit_of(later);
          if (to == unit || std::exchange(seen[to], unit) == unit) return;
          readers.add(to);
        };
        for (const NodeId reader : graph_.readers(node)) add(reader);
        for (const NodeId follower : graph_.followers(node)) add(follower);
      }
      readers.end_list();
    }
    const RoundsGraph graph(readers);
    const Rounds rounds = find_rounds({graph, devices, std::size_t{host_} + 1});
    take_rounds(rounds_by_node(graph_, units, rounds));
  }

  void take_rounds(const NodeRounds& rounds) {
    subgraphs_ = Subgraphs();
    subgraphs_.subgraph_of = PerNode<PartId>(graph_.node_count(), kNone<PartId>);
    for (const DeviceIndex device : rounds.devices) add_subgraph(device);
    for (const NodeId node : graph_.nodes()) put(node, PartId{rounds.part_of[node]});
    least_acc_parts_ = rounds.least_acc_parts;
  }

  TargetId target_id(DeviceIndex device) const {
    return device == host_ ? kNone<TargetId> : id_at<TargetId>(device);
  }

  void add_subgraph(DeviceIndex device) {
    subgraphs_.devices.push_back(device == host_ ? Device::cpu : Device::acc);
    subgraphs_.targets.push_back(target_id(device));
    subgraphs_.sizes.push_back(0);
  }

  void put(NodeId node, PartId run) {
    subgraphs_.subgraph_of[node] = run;
    ++subgraphs_.sizes[index(run)];
  }

  DeviceIndex device_of_run(PartId run) const {
    const TargetId target = subgraphs_.targets[index(run)];
    return target == kNone<TargetId> ? host_ : static_cast<DeviceIndex>(target);
  }

  // Nodes whose non-tensor data leaves a run go to the run that reads it. They only move on: to the CPU, or
  // to a target that is asked after their own. So runs that moved on do not draw them back, and finding
  // runs anew comes to an end.
  void move_non_tensors() {
    NonTensorsMoved moved =
        move_non_tensor_nodes(graph_, fusions_, std::move(subgraphs_),
                              [&](std::span<const NodeId> nodes, TargetId from, TargetId to) {
                                return from < to && takes_all(verdicts_[index(to)].support, nodes);
                              });
    subgraphs_ = std::move(moved.subgraphs);
    for (const auto& [node, to, reason] : moved.left) {
      verdicts_[device_of_[node]].reasons[node] = reason;
      device_of_[node] = device_of_run(to);
      if (device_of_[node] == host_) fusions_.acc.nodes.erase(node);
    }
  }

  std::vector<std::vector<NodeId>> members_of_runs() const {
    std::vector<std::vector<NodeId>> members(subgraphs_.count());
    for (const NodeId node : graph_.nodes()) {
      members[index(subgraphs_.subgraph_of[node])].push_back(node);
    }
    return members;
  }

  // Why runs leave their target, by run; only of those that do.
  using Leaving = std::vector<std::pair<std::uint32_t, Reason>>;

  // The whole run goes to the next target that takes it, else to the CPU. True if there is any.
  bool move_on(const Leaving& leaving) {
    if (leaving.empty()) return false;
    const auto members = members_of_runs();
    for (const auto& [run, reason] : leaving) {
      const TargetId from = subgraphs_.targets[run];
      const DeviceIndex to = first_to_take(members[run], index(from) + 1);
      for (const NodeId node : members[run]) {
        verdicts_[index(from)].reasons[node] = reason;
        device_of_[node] = to;
      }
      subgraphs_.devices[run] = Device::cpu;
      subgraphs_.targets[run] = kNone<TargetId>;
    }
    if (request_.is_for_one()) {
      subgraphs_ = with_cpu_neighbours_merged(subgraphs_);
    } else {
      make_runs();
      if (options_.move_non_tensor) move_non_tensors();
    }
    return true;
  }

  void find_min_sizes() {
    if (!options_.is_min_automatic) return;
    for (const std::size_t target : asked_) {
      const OwnTimes own = own_times(target);
      verdicts_[target].min_acc_size =
          fastest_min_size(graph_, seen_by(target), own.input(options_.residency));
    }
  }

  Leaving small_runs() const {
    Leaving small;
    for (std::uint32_t run = 0; run < subgraphs_.count(); ++run) {
      const TargetId target = subgraphs_.targets[run];
      const std::uint32_t size = subgraphs_.sizes[run];
      if (target == kNone<TargetId> || size >= verdicts_[index(target)].min_acc_size) continue;
      if (size == 0 && !request_.is_for_one()) continue;
      small.emplace_back(run, Reason{.code = ReasonCode::small_subgraph, .size = size});
    }
    return small;
  }

  // The runs as one target sees them: its own are on the accelerator, all others on the other side.
  Subgraphs seen_by(std::size_t target) const {
    Subgraphs seen = subgraphs_;
    seen.targets.clear();
    for (std::size_t i = 0; i < seen.count(); ++i) {
      const bool is_own = subgraphs_.targets[i] == id_at<TargetId>(target);
      seen.devices[i] = is_own ? Device::acc : Device::cpu;
    }
    return seen;
  }

  LimitsOfLists limits_of(std::size_t target) const {
    LimitsOfLists limits = limits_of_lists(lists_of(input_, request_.targets[target]));
    for (std::uint16_t& list : limits.list) {
      list = static_cast<std::uint16_t>(list + request_.targets[target].first_list);
    }
    return limits;
  }

  // Runs beyond the limits of their target's lists are cut. What is beyond a limit by itself goes to
  // the CPU.
  void cut_at_limits() {
    cuts_.subgraphs = cuts_.pieces = 0;  // runs that are found anew join the pieces of earlier cuts
    for (const std::size_t target : asked_) {
      const LimitsOfLists limits = limits_of(target);
      if (!limits.limits.is_any()) continue;
      LimitedSubgraphs limited = limit_parts(
          graph_, fusions_, limits, {seen_by(target), std::move(verdicts_[target].reasons)});
      verdicts_[target].reasons = std::move(limited.merged.reasons);
      cuts_.subgraphs += limited.cuts.subgraphs;
      cuts_.pieces += limited.cuts.pieces;
      cuts_.nodes += limited.cuts.nodes;
      if (limited.cuts.subgraphs > 0) number_anew(target, limited.merged.subgraphs);
    }
  }

  // The order of the runs stays, which finding them anew would not promise: it would join the pieces again.
  // `cut` has the runs of the target in pieces, and neighbours on the other side as one: these are
  // told apart by the run that they were in before.
  void number_anew(std::size_t target, const Subgraphs& cut) {
    using Place = std::pair<std::uint32_t, std::uint32_t>;  // in `cut`, before
    const Subgraphs before = std::exchange(subgraphs_, Subgraphs());
    const auto place_of = [&](NodeId node) {
      return Place{index(cut.subgraph_of[node]), index(before.subgraph_of[node])};
    };
    std::vector<Place> places;
    for (const NodeId node : graph_.nodes()) {
      const Place place = place_of(node);
      places.push_back(place);
      const bool was_own = before.targets[place.second] == id_at<TargetId>(target);
      if (was_own && cut.devices[place.first] == Device::cpu) device_of_[node] = host_;
    }
    sort_unique(places);
    std::vector<DeviceIndex> devices(places.size(), host_);
    std::vector<std::uint32_t> run_of;
    for (const NodeId node : graph_.nodes()) {
      const auto at = std::ranges::lower_bound(places, place_of(node));
      run_of.push_back(static_cast<std::uint32_t>(at - places.begin()));
      devices[run_of.back()] = device_of_[node];
    }
    for (const DeviceIndex device : devices) add_subgraph(device);
    subgraphs_.subgraph_of = PerNode<PartId>(graph_.node_count(), kNone<PartId>);
    for (const NodeId node : graph_.nodes()) put(node, PartId{run_of[index(node)]});
    if (request_.is_for_one()) subgraphs_ = with_cpu_neighbours_merged(subgraphs_);
  }

  // Nodes that fit in two neighbouring runs of a target go where fewer bytes cross.
  void pack() {
    if (options_.pack != PackBy::bytes) return;
    for (const std::size_t target : asked_) {
      Subgraphs packed =
          pack_for_fewest_bytes(graph_, fusions_, seen_by(target), verdicts_[target].min_acc_size,
                                limits_of(target).limits)
              .subgraphs;
      subgraphs_.subgraph_of = std::move(packed.subgraph_of);
      subgraphs_.sizes = std::move(packed.sizes);
    }
  }

  // Runs that lack what the lists of their target ask of a whole partition.
  Leaving failing_runs() const {
    Leaving failing;
    if (!have_part_conditions(input_.lists)) return failing;
    const auto members = members_of_runs();
    for (std::uint32_t run = 0; run < members.size(); ++run) {
      if (subgraphs_.targets[run] == kNone<TargetId> || members[run].empty()) continue;
      const Target& target = request_.targets[index(subgraphs_.targets[run])];
      auto reason = failed_part_condition(graph_, lists_of(input_, target), members[run]);
      if (!reason) continue;
      reason->list = static_cast<std::uint16_t>(reason->list + target.first_list);
      failing.emplace_back(run, *reason);
    }
    return failing;
  }

  // Of the runs of a target beyond its number, those that are worth least move on.
  bool move_runs_beyond_number() {
    for (const std::size_t target : asked_) {
      SplitOptions options = options_;
      options.most_kept = request_.targets[target].most_kept;
      const OwnTimes own = own_times(target);
      const LatencyInput latency = own.input(options_.residency);
      const KeptSubgraphs kept = keep_best_subgraphs(
          graph_, {seen_by(target), PerNode<Reason>(graph_.node_count())}, options,
          {.link = request_.targets[target].link,
           .latency = asks_for_latency(options_) ? &latency : nullptr});
      if (kept.cost.subgraphs == 0) continue;
      std::vector<std::uint8_t> is_seen(subgraphs_.count(), 0);
      Leaving dropped;
      for (const NodeId node : graph_.nodes()) {
        const std::uint32_t run = index(subgraphs_.subgraph_of[node]);
        if (std::exchange(is_seen[run], std::uint8_t{1}) != 0) continue;
        const bool is_own = subgraphs_.targets[run] == id_at<TargetId>(target);
        const Reason& reason = kept.reasons[node];
        if (is_own && reason.code != ReasonCode::none) dropped.emplace_back(run, reason);
      }
      cap_.subgraphs += kept.cost.subgraphs;
      cap_.nodes += kept.cost.nodes;
      cap_.flops += kept.cost.flops;
      cap_.link_bytes += kept.cost.link_bytes;
      return move_on(dropped);
    }
    return false;
  }

  // The times of one target as if it were the only one.
  struct OwnTimes {
    TargetTimes times;
    Machine machine;
    LatencyInput input(Residency residency) const { return {times, machine, residency}; }
  };

  OwnTimes own_times(std::size_t target) const {
    if (!asks_for_latency(options_)) return {};
    const std::size_t place = request_.place(target);
    const LatencyInput& latency = request_.latency;
    return {{latency.times.cpu, latency.times.on_target(place)}, latency.machine_with(place)};
  }

  // ---- step 5 ----

  // Runs of each target reach back for nodes of its earlier runs; those of an only target, for nodes that it
  // gave up, too. If one of them then lacks what lists ask of a whole partition, it goes to the CPU, or
  // with several targets all stay as they were.
  Status<> extend() {
    if (options_.extend.which == ExtendOptions::Which::none) return Done{};
    const bool is_one = options_.extend.which == ExtendOptions::Which::one;
    const std::size_t number = options_.extend.subgraph;
    const Subgraphs before = subgraphs_;
    const bool is_there = number < before.count() && before.devices[number] == Device::acc;
    for (const std::size_t target : asked_) {
      if (is_one && is_there && before.targets[number] != id_at<TargetId>(target)) continue;
      if (!request_.is_for_one()) {
        fusions_.acc.nodes = NodeSet(graph_.node_count());
        for (const NodeId node : graph_.nodes()) {
          if (device_of_[node] == target) fusions_.acc.nodes.insert(node);
        }
      }
      auto made = extend_subgraphs(graph_, fusions_, is_there || !is_one ? seen_by(target) : before,
                                   options_.extend, limits_of(target).limits);
      if (!made) return std::move(made).error();
      subgraphs_.subgraph_of = std::move(made->subgraphs.subgraph_of);
      subgraphs_.sizes = std::move(made->subgraphs.sizes);
      for (const NodeId node : made->moved) {
        device_of_[node] = static_cast<DeviceIndex>(target);
        verdicts_[target].reasons[node] = {};
      }
      extended_.insert(extended_.end(), made->moved.begin(), made->moved.end());
      extensions_left_out_.insert(extensions_left_out_.end(), made->left_out.begin(),
                                  made->left_out.end());
    }
    std::ranges::sort(extended_);
    if (request_.is_for_one()) {
      move_on(failing_runs());
      std::erase_if(extended_, [&](NodeId node) { return device_of_[node] == host_; });
    } else if (!failing_runs().empty()) {
      subgraphs_ = before;
      extended_.clear();
    }
    return Done{};
  }

  // What the target that runs a node says about it, for all nodes.
  Support joined_support() const {
    Support joined{NodeSet(graph_.node_count()), PerNode<Reason>(graph_.node_count())};
    for (std::size_t target = 0; target < host_; ++target) {
      const Support& support = verdicts_[target].support;
      for (const NodeId node : graph_.nodes()) {
        if (support.supported.contains(node)) joined.supported.insert(node);
      }
      for (const UncheckedNode& node : support.unchecked) {
        if (device_of_[node.node] == target) joined.unchecked.push_back(node);
      }
      for (std::size_t i = 0; i < support.patterns.count(); ++i) {
        const auto nodes = support.patterns.nodes_of(i);
        const bool runs =
            std::ranges::all_of(nodes, [&](NodeId node) { return device_of_[node] == target; });
        if (runs) joined.patterns.add(support.patterns.matches[i], nodes);
      }
    }
    std::ranges::sort(joined.unchecked, {}, &UncheckedNode::node);
    return joined;
  }

  // Of a node on the CPU: what the last target says that has something to say. A node that one target gave
  // up has not been judged by those that were asked for what it left.
  PerNode<Reason> joined_reasons() {
    PerNode<Reason> reasons(graph_.node_count());
    fusions_.acc = {NodeSet(graph_.node_count()), PerNode<Reason>(graph_.node_count())};
    for (const NodeId node : graph_.nodes()) {
      const DeviceIndex device = device_of_[node];
      for (std::size_t target = 0; target < device; ++target) {
        Reason& reason = verdicts_[target].reasons[node];
        if (reason.code == ReasonCode::none) reason = verdicts_[target].support.reasons[node];
        if (device == host_ && reason.code != ReasonCode::none) reasons[node] = reason;
      }
      if (device == host_) continue;
      verdicts_[device].reasons[node] = {};
      fusions_.acc.nodes.insert(node);
    }
    return reasons;
  }

  Split finish() {
    Split split;
    cap_.kept = cap_.subgraphs == 0
                    ? 0
                    : static_cast<std::size_t>(std::ranges::count(subgraphs_.devices, Device::acc));
    if (request_.targets.size() == 1) {
      subgraphs_.targets.clear();
      found_.subgraphs.targets.clear();
    }
    if (request_.is_for_one()) {
      TargetVerdicts& only = verdicts_[*request_.only];
      split.min_acc_size = only.min_acc_size;
      split.support = only.support;
      split.reasons = only.reasons;
    } else {
      split.support = joined_support();
      split.reasons = joined_reasons();
    }
    split.partition = make_partition(subgraphs_, options_);
    assert(check_partition(graph_, split.partition, nullptr).has_value());
    split.boundaries = find_boundaries(graph_, split.partition);
    split.acc_found = std::move(acc_found_);
    split.host_shapes = std::move(host_shapes_);
    split.qdq_groups = std::move(qdq_groups_);
    split.fusions = std::move(fusions_);
    split.placement = placement_;
    split.found = std::move(found_);
    split.limit_cuts = cuts_;
    split.merged_count = run_count_;
    split.least_acc_parts = least_acc_parts_;
    split.cap = cap_;
    split.extended = std::move(extended_);
    split.extensions_left_out = std::move(extensions_left_out_);
    split.unfit = std::move(unfit_);
    if (request_.targets.size() > 1) split.targets = std::move(verdicts_);
    return split;
  }

  const Request& request_;
  const SplitInput& input_;
  const Graph& graph_;
  const SplitOptions& options_;
  const Sets sets_;  // that must be whole
  const DeviceIndex host_;
  std::vector<std::size_t> asked_;        // targets, in order
  std::vector<TargetVerdicts> verdicts_;  // by target
  PerNode<DeviceIndex> device_of_;
  AccNodes acc_found_;
  QdqGroups qdq_groups_;
  HostShapes host_shapes_;
  std::vector<std::vector<NodeId>> groups_;  // of several targets, some no longer on one
  Fusions fusions_;                          // .acc: what the only target may run
  std::optional<PlacementNumbers> placement_;
  std::optional<CapacityExceeded> unfit_;
  Subgraphs subgraphs_;
  SubgraphsFound found_;
  std::size_t run_count_ = 0;
  std::size_t least_acc_parts_ = 0;
  LimitCuts cuts_;
  CapCost cap_;
  std::vector<NodeId> extended_;
  std::vector<ExtensionLeftOut> extensions_left_out_;
};

// What the targets hold and run, where that is more than they can.
std::optional<CapacityExceeded> find_unfit(const Graph& graph, const Split& split,
                                           const LatencyInput& latency) {
  CapacityExceeded used{device_use(graph, split.partition, latency).peak_bytes,
                        std::vector<std::size_t>(latency.target_count(), 0)};
  for (const PartId part : split.partition.parts()) {
    if (split.partition.is_acc(part)) ++used.parts[index(split.partition.target(part))];
  }
  for (std::size_t i = 0; i < latency.target_count(); ++i) {
    const Machine& machine = latency.machine_with(i);
    if (used.bytes[i] > machine.acc_memory.value_or(used.bytes[i])) return used;
    if (used.parts[i] > machine.most_acc_parts.value_or(used.parts[i])) return used;
  }
  return std::nullopt;
}

// Whether required nodes are where they must be, wherever `other` has them so.
bool keeps_required(const SplitInput& input, const Split& split, const Split& other) {
  const auto target_in = [](const Split& of, NodeId node) {
    return of.partition.target(of.partition.part_of[node]);
  };
  for (const NodeId node : input.graph.nodes()) {
    if (input.required == nullptr || !input.required->contains(node)) continue;
    const bool is_on_cpu = target_in(split, node) == kNone<TargetId>;
    if (is_on_cpu && target_in(other, node) != kNone<TargetId>) return false;
  }
  for (std::size_t i = 0; i < input.required_on.size(); ++i) {
    const auto own = id_at<TargetId>(i);
    for (const NodeId node : input.required_on[i]) {
      if (target_in(split, node) != own && target_in(other, node) == own) return false;
    }
  }
  return true;
}

// What the goal is counted in must be known of each device.
Status<> check_numbers(const SplitInput& input, PlaceGoal goal, const LatencyInput& latency) {
  if (goal == PlaceGoal::energy) {
    if (!energy_numbers(latency).empty()) return Done{};
    std::size_t unknown = 0;  // the first device that has no numbers; the host last
    while (unknown < input.targets.size() && latency.machine_with(unknown).acc.energy) ++unknown;
    const std::string name = unknown < input.targets.size() ? input.targets[unknown].name : "cpu";
    return Error{"--place energy: what " + name + " draws is not known",
                 std::nullopt,
                 {"give --target " + name + ":energy=2pJ/FLOP+30pJ/byte"}};
  }
  for (std::size_t i = 0; i < input.targets.size(); ++i) {
    const TargetTimes times{latency.times.cpu, latency.times.on_target(i)};
    auto known =
        check_latency_input(input.graph, {times, latency.machine_with(i), latency.residency});
    if (known) continue;
    Error error = std::move(known).error();
    error.message = input.targets[i].name + ": " + error.message;
    return error;
  }
  return Done{};
}

// The split; one that divides a set is made again with the sets as groups. Not at once: a set as a group brings
// all nodes on paths between its members, and a split may divide no set without that.
Result<Split> split_whole(const Request& request, std::vector<Support> supports, bool is_by_cost,
                          const Passed& passed) {
  const Sets sets = request.input.facts.whole;
  std::vector<Support> again = sets.empty() ? std::vector<Support>() : supports;
  Result<Split> split = Splitter(request, std::move(supports), {}).run(is_by_cost, passed);
  if (!split || !divides_a_set(sets, split->partition.part_of)) return split;
  return Splitter(request, std::move(again), sets).run(is_by_cost, passed);
}

// A split in which each node goes to the first target that takes it has been made. Returns the one by cost,
// unless that costs more, gains too little, or does not fit where the other does.
Result<Split> better_by_cost(const Request& request, std::vector<Support> supports, Split in_order,
                             const Passed& passed) {
  const Graph& graph = request.input.graph;
  const SplitOptions& options = request.options;
  const LatencyInput& latency = request.latency;
  auto placed = split_whole(request, std::move(supports), true, passed);
  if (!placed) return placed;
  Split& by_cost = *placed;
  by_cost.count_without_host_shapes = in_order.count_without_host_shapes;
  const auto cost = [&](const Split& split) {
    if (options.place_goal == PlaceGoal::energy) {
      return device_use(graph, split.partition, latency).total_mj();
    }
    return cleave::latency(graph, split.partition, split.boundaries, latency).total_us;
  };
  by_cost.in_order_cost = cost(in_order);
  if (by_cost.unfit) return placed;
  // Steps after the placement move runs.
  by_cost.unfit = find_unfit(graph, by_cost, latency);
  const auto found = cost(by_cost);
  const bool costs_more = found && by_cost.in_order_cost && *found > *by_cost.in_order_cost;
  PlacementNumbers& numbers = *by_cost.placement;
  if (found && by_cost.in_order_cost && *by_cost.in_order_cost > 0) {
    numbers.gain = 1 - *found / *by_cost.in_order_cost;
  }
  numbers.is_too_little = numbers.gain < options.min_gain.value_or(0);
  const bool is_worse =
      by_cost.unfit || ((costs_more || numbers.is_too_little) && !is_decided(request.input));
  const bool stays = is_worse && !find_unfit(graph, in_order, latency) &&
                     keeps_required(request.input, in_order, by_cost);
  numbers.is_too_little = numbers.is_too_little && stays && options.min_gain;
  if (!stays) return placed;
  in_order.placement = by_cost.placement;
  in_order.in_order_cost = by_cost.in_order_cost;
  return in_order;
}

}  // namespace

bool asks_for_latency(const SplitOptions& options) {
  return options.place == PlaceBy::cost || options.is_min_automatic || options.keep_only_gaining ||
         options.keep_by == KeepBy::latency;
}

Result<Support> judge_by_lists(const Graph& graph, std::span<const SupportList> lists,
                               const OpFacts& facts) {
  const std::uint64_t most = most_rule_checks(graph);
  auto support = match_support_within(graph, lists, facts, most);
  if (support) return *std::move(support);
  return Error{.message =
                   "rules of the support lists, and terms of their \"where\", would be held "
                   "against nodes more than " +
                   std::to_string(most) + " times, the most that is done",
               .notes = {"too many rules are for the same op: give rules by the values of an "
                         "attribute, or fewer rules"}};
}

bool takes_all(const Support& support, std::span<const NodeId> nodes) {
  return std::ranges::all_of(nodes, [&](NodeId node) {
    if (!support.supported.contains(node)) return false;
    const auto match = support.patterns.match_of(node);
    if (!match) return true;
    return std::ranges::all_of(support.patterns.nodes_of(*match), [&](NodeId member) {
      return std::ranges::binary_search(nodes, member);
    });
  });
}

Result<Split> split_graph(const SplitInput& input, const SplitOptions& options,
                          const Progress& progress) {
  const Passed passed(&progress);
  const Passed silent(nullptr);
  if (auto usable = check_prefixes(options); !usable) return std::move(usable).error();
  const Target all{.name = std::string(kOnlyTarget),
                   .end_list = input.lists.size(),
                   .min_acc_size = options.min_acc_size,
                   .most_kept = options.most_kept,
                   .link = input.link};
  const bool is_named = input.targets.size() > 1;
  const std::span<const Target> targets = is_named ? input.targets : std::span(&all, 1);
  auto supports = judge_for_each(input, targets);
  if (!supports) return std::move(supports).error();
  passed(1);

  // Targets whose lists accept no node take no part. If one is left it is the only one, with its own
  // machine: a target that takes nothing must not change the plan of another. Energy alone is counted for all
  // devices.
  const bool is_by_cost = options.place == PlaceBy::cost;
  const bool is_for_energy = is_by_cost && options.place_goal == PlaceGoal::energy;
  std::vector<std::size_t> taking;
  for (std::size_t target = 0; target < targets.size(); ++target) {
    if ((*supports)[target].supported.count() > 0) taking.push_back(target);
  }
  std::optional<std::size_t> only;
  if (!is_named || (taking.size() < 2 && !is_for_energy))
    only = taking.empty() ? 0 : taking.front();
  TargetTimes times;
  Machine machine = options.machine;
  if (only) {
    if (*only > 0 && *only <= options.later.size()) machine = options.later[*only - 1];
    machine.link_bytes_per_second = targets[*only].link.bytes_per_second;
    if (input.times != nullptr) {
      times = {input.times->cpu, input.times->on_target(*only)};
    } else if (asks_for_latency(options)) {
      times = target_times(input.graph, machine, {}, {});
    }
  }
  LatencyInput latency{only || input.times == nullptr ? times : *input.times, machine,
                       options.residency};
  if (!only) latency.later = options.later;
  if (!only) latency.links = options.links;
  const Request request{input, options, targets, only, latency};
  if (asks_for_latency(options)) {
    auto known = only ? check_latency_input(input.graph, latency)
                      : check_numbers(input, options.place_goal, latency);
    if (!known) return std::move(known).error();
  }

  std::size_t without_host_shapes = 0;
  if (options.host_shapes) {
    SplitOptions plain = options;
    plain.host_shapes = false;
    plain.extend = {};
    auto made = split_whole({input, plain, targets, only, latency}, *supports, false, silent);
    if (!made) return made;
    without_host_shapes = made->merged_count;
  }
  const bool is_compared = is_by_cost && !only;
  // The order of the targets is a plan that users know; one by cost must be better to replace it.
  std::vector<Support> again = is_compared ? *supports : std::vector<Support>();
  auto split =
      split_whole(request, *std::move(supports), is_by_cost && only, is_compared ? silent : passed);
  if (!split) return split;
  split->count_without_host_shapes = without_host_shapes;
  if (!is_compared) return split;
  return better_by_cost(request, std::move(again), *std::move(split), passed);
}

}  // namespace cleave
