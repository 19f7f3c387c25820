// Steps:
// 1. judge each node by the lists of each target;
// 2. ask the targets in order which of the nodes that are left they take, with their groups; or place
//    all by cost (place_on_targets.h);
// 3. make groups of different targets free of cycles; one that lies on two devices goes to the first
//    target that takes all of it;
// 4. rounds; parts that are too small, beyond a limit or too many move on, and rounds are made again;
// 5. name the parts, find their boundaries, and gather the reasons.
#include "core/split/split.h"

#include <algorithm>
#include <cassert>
#include <limits>
#include <numeric>
#include <string>
#include <utility>

#include "core/devices/devices.h"
#include "core/lists/support.h"
#include "core/split/groups.h"

namespace cleave {

namespace {

using Sets = std::span<const std::vector<NodeId>>;

Error for_one_target(const std::string& option) {
  return {option + " is for one target, and there are several",
          std::nullopt,
          {"give -s for one target, or leave " + option + " out"}};
}

Status<> check_options(const SplitOptions& options) {
  if (options.move_non_tensor) return for_one_target("--move-non-tensor");
  return check_prefixes(options);
}

// The reasons name lists by their place among those of one target, and then among those of all.
void shift_lists(PerNode<Reason>& reasons, std::size_t first) {
  for (std::size_t i = 0; i < reasons.size(); ++i) {
    std::uint16_t& list = reasons[id_at<NodeId>(i)].list;
    list = static_cast<std::uint16_t>(list + first);
  }
}

Support with_lists_from(Support support, std::size_t first) {
  const auto add = static_cast<std::uint16_t>(first);
  shift_lists(support.reasons, first);
  for (UncheckedNode& node : support.unchecked)
    node.list = static_cast<std::uint16_t>(node.list + add);
  for (PatternMatch& match : support.patterns.matches) {
    match.list = static_cast<std::uint16_t>(match.list + add);
  }
  return support;
}

std::span<const SupportList> lists_of(const SplitInput& input, const Target& target) {
  return input.lists.subspan(target.first_list, target.end_list - target.first_list);
}

// ---- step 1 ----

Result<std::vector<Support>> judge_for_each(const SplitInput& input) {
  std::vector<Support> supports;
  for (const Target& target : input.targets) {
    auto support = judge_by_lists(input.graph, lists_of(input, target), input.facts);
    if (!support) return std::move(support).error();
    supports.push_back(with_lists_from(*std::move(support), target.first_list));
  }
  return supports;
}

// ---- one target that takes part ----

// The split for one of the targets, as the split for all of them.
Result<Split> split_for_only(const SplitInput& input, SplitOptions options, std::size_t only,
                             std::vector<Support> supports, const Progress& progress,
                             RequiredOn required_on) {
  const Target& target = input.targets[only];
  SplitInput alone = input;
  alone.targets = {};
  alone.lists = lists_of(input, target);
  alone.link = target.link;
  TargetTimes times;
  if (input.times != nullptr) times = {input.times->cpu, input.times->on_target(only)};
  if (input.times != nullptr) alone.times = &times;
  if (only > 0 && only <= options.later.size()) {
    options.machine = options.later[only - 1];
  }
  options.min_acc_size = target.min_acc_size;
  options.most_kept = target.most_kept;
  options.acc_prefix = options.target_prefixes[only];
  NodeSet required(input.graph.node_count());
  if (input.required != nullptr) required = *input.required;
  if (only < required_on.size()) {
    for (const NodeId node : required_on[only]) required.insert(node);
  }
  alone.required = &required;
  auto split = split_graph(alone, options, progress);
  if (!split) return split;
  shift_lists(split->reasons, target.first_list);
  for (std::size_t t = 0; t < supports.size(); ++t) {
    split->targets.push_back({.support = std::move(supports[t]), .reasons = {}});
    split->targets[t].reasons = t == only ? split->reasons : split->targets[t].support.reasons;
    split->targets[t].min_acc_size =
        t == only ? split->min_acc_size : input.targets[t].min_acc_size;
  }
  split->support = split->targets[only].support;
  const auto name_targets = [&](auto& parts) {
    parts.targets.clear();
    for (const Device device : parts.devices) {
      parts.targets.push_back(device == Device::acc ? id_at<TargetId>(only) : kNone<TargetId>);
    }
  };
  name_targets(split->partition);
  name_targets(split->found.subgraphs);
  return split;
}

// What the placement on one target does not know.
bool is_for_several(const SplitOptions& options) {
  return options.place == PlaceBy::cost && options.place_goal == PlaceGoal::energy;
}

// ---- several ----

class TargetSplitter {
 public:
  // `latency` is needed by options that ask for times; null: there are none.
  TargetSplitter(const SplitInput& input, const SplitOptions& options,
                 std::vector<Support> supports, RequiredOn required_on, const LatencyInput* latency)
      : input_(input),
        latency_(latency),
        graph_(input.graph),
        options_(options),
        required_on_(required_on),
        host_(static_cast<DeviceIndex>(input.targets.size())),
        device_of_(graph_.node_count(), host_),
        acc_found_(graph_.node_count()),
        qdq_groups_(qdq_groups_asked_for(graph_, options_, input.lists)) {
    for (Support& support : supports) {
      verdicts_.push_back({std::move(support), PerNode<Reason>(graph_.node_count())});
    }
  }

  // The targets are asked in order.
  Result<Split> run_in_order(Sets sets) && {
    for (std::size_t target = 0; target < host_; ++target) ask(target);
    close_groups(sets);
    return run();
  }

  // Nodes go where an inference takes the least time.
  Result<Split> run_by_cost(Sets sets) && {
    const LatencyInput& latency = *latency_;
    std::vector<Fusions> alone;
    for (const TargetVerdicts& verdicts : verdicts_) alone.push_back(run_alone(verdicts.support));
    const bool is_for_energy = options_.place_goal == PlaceGoal::energy;
    const std::vector<EnergyNumbers> energy =
        is_for_energy ? energy_numbers(latency) : std::vector<EnergyNumbers>();
    TargetsPlaced placed =
        place_on_targets(graph_, {.latency = latency,
                                  .energy = energy,
                                  .targets = input_.targets,
                                  .alone = alone,
                                  .sets = sets,
                                  .required = input_.required,
                                  .required_on = required_on_,
                                  .allow_non_tensor = options_.allow_non_tensor});
    device_of_ = std::move(placed.device_of);
    groups_ = std::move(placed.groups);
    for (std::size_t target = 0; target < host_; ++target) {
      verdicts_[target].reasons = std::move(alone[target].acc.reasons);
      for (const NodeId node : graph_.nodes()) {
        const bool is_moved = alone[target].acc.nodes.contains(node) && device_of_[node] != target;
        if (!is_moved) continue;
        const bool lacks_memory =
            placed.without_limits.size() > 0 && placed.without_limits[node] == target;
        verdicts_[target].reasons[node] = why_elsewhere(target, lacks_memory, latency);
      }
    }
    for (std::size_t other = 0; other < required_on_.size(); ++other) {
      for (const NodeId node : required_on_[other]) {
        if (device_of_[node] != other) continue;
        for (std::size_t target = 0; target < host_; ++target) {
          Reason& reason = verdicts_[target].reasons[node];
          if (reason.code != ReasonCode::costs_more) continue;
          reason.elsewhere = Elsewhere::required;
        }
      }
    }
    const std::size_t placed_groups = groups_.size();
    close_groups(sets);
    const bool is_as_placed =
        fusions_.group_count() == placed_groups && groups_.size() == placed_groups &&
        std::none_of(groups_.begin(), groups_.end(),
                     [&](const auto& group) { return device_of_[group.front()] == host_; });
    if (is_as_placed) take_rounds(placed.rounds);
    Result<Split> split = run();
    if (!split) return split;
    split->placement = placed.numbers;
    split->unfit = std::move(placed.unfit);
    return split;
  }

 private:
  Reason why_elsewhere(std::size_t target, bool lacks_memory, const LatencyInput& latency) const {
    const bool is_for_energy = options_.place_goal == PlaceGoal::energy;
    Reason reason{.code = ReasonCode::costs_more,
                  .elsewhere = is_for_energy ? Elsewhere::less_energy : Elsewhere::less_time};
    if (!lacks_memory) return reason;
    constexpr std::uint64_t kMost = std::numeric_limits<std::uint32_t>::max();
    const std::uint64_t bytes = latency.machine_with(target).acc_memory.value_or(0);
    reason.elsewhere = Elsewhere::memory;
    reason.size = static_cast<std::uint32_t>(std::min((bytes + 1023) / 1024, kMost));
    return reason;
  }

  // Steps 4 and 5; rounds that are known are not made again.
  Result<Split> run() {
    if (subgraphs_.count() == 0) make_rounds();
    SubgraphsFound found{subgraphs_, subgraphs_.count()};
    find_min_sizes();
    while (move_small_parts()) make_rounds();
    for (bool is_settled = false; !is_settled;) {
      cut_at_limits();
      is_settled = !move_failing_parts() && !move_parts_beyond_number();
      if (!is_settled) make_rounds();
    }
    if (auto extended = extend(); !extended) return std::move(extended).error();
    return finish(std::move(found));
  }

  // ---- step 2 ----

  // The nodes that the target may run, with their groups, of those that `support` accepts.
  Fusions run_alone(const Support& support) {
    HostShapes shapes;
    if (options_.host_shapes) {
      shapes = follow_shape_users(graph_, support);
      for (const NodeId node : graph_.nodes()) {
        if (shapes.nodes.contains(node)) host_shapes_.nodes.insert(node);
      }
      host_shapes_.to_acc += shapes.to_acc;
      host_shapes_.to_cpu += shapes.to_cpu;
    }
    AccNodes acc =
        find_acc_nodes(graph_, options_.host_shapes ? shapes.support : support, options_);
    for (const NodeId node : graph_.nodes()) {
      if (acc.nodes.contains(node)) acc_found_.insert(node);
    }
    return find_groups(graph_, std::move(acc), {qdq_groups_, support.patterns}, options_);
  }

  // What the lists of the target accept and no target before has taken.
  Support what_is_left(std::size_t target) const {
    Support left = verdicts_[target].support;
    for (const NodeId node : graph_.nodes()) {
      if (device_of_[node] == host_) continue;
      left.supported.erase(node);
      left.reasons[node] = {};
    }
    return left;
  }

  void ask(std::size_t target) {
    const Support left = what_is_left(target);
    Fusions fusions = run_alone(left);
    for (const NodeId node : graph_.nodes()) {
      if (fusions.acc.nodes.contains(node)) device_of_[node] = static_cast<DeviceIndex>(target);
    }
    verdicts_[target].reasons = std::move(fusions.acc.reasons);
    for (std::size_t i = 0; i < fusions.group_count(); ++i) {
      const auto members = fusions.group(id_at<GroupId>(i));
      groups_.emplace_back(members.begin(), members.end());
    }
  }

  // ---- step 3 ----

  bool is_on_one_device(std::span<const NodeId> nodes) const {
    return std::all_of(nodes.begin(), nodes.end(),
                       [&](NodeId node) { return device_of_[node] == device_of_[nodes.front()]; });
  }

  // The groups of all targets, and the sets, as groups that do not depend on each other in a cycle.
  Fusions closed_groups(Sets sets) const {
    NodeGroups joined(graph_);
    for (const auto& group : groups_) {
      if (device_of_[group.front()] != host_) joined.add_group(group);
    }
    for (const auto& set : sets) joined.add_group(set);
    return std::move(joined).settle_all();
  }

  // Groups that are on the CPU need not stay together, unless they are sets: so each round may free
  // nodes. It ends, since groups only grow, and what is on the CPU stays there.
  void close_groups(Sets sets) {
    const ReasonCode code = sets.empty() ? ReasonCode::fusion_group : ReasonCode::shared_memory;
    for (bool is_closed = false; !is_closed;) {
      fusions_ = closed_groups(sets);
      is_closed = true;
      for (std::size_t i = 0; i < fusions_.group_count(); ++i) {
        const auto members = fusions_.group(id_at<GroupId>(i));
        if (is_on_one_device(members)) continue;
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
      if (from == to) continue;
      const auto* const other = std::find_if(members.data(), members.data() + members.size(),
                                             [&](NodeId node) { return device_of_[node] != from; });
      const NodeId because = other == members.data() + members.size() ? members.front() : *other;
      if (from != host_) verdicts_[from].reasons[member] = {.code = code, .because = because};
    }
    for (const NodeId member : members) device_of_[member] = to;
  }

  // The first target from `first` on that takes all of the nodes, else the host.
  DeviceIndex first_to_take(std::span<const NodeId> nodes, std::size_t first) const {
    for (std::size_t target = first; target < host_; ++target) {
      if (takes_all(verdicts_[target].support, nodes)) return static_cast<DeviceIndex>(target);
    }
    return host_;
  }

  // ---- step 4 ----

  void make_rounds() {
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
    for (const NodeId node : graph_.nodes()) {
      const std::uint32_t part = rounds.part_of[node];
      subgraphs_.subgraph_of[node] = PartId{part};
      ++subgraphs_.sizes[part];
    }
    least_acc_parts_ = rounds.least_acc_parts;
  }

  void add_subgraph(DeviceIndex device) {
    subgraphs_.devices.push_back(device == host_ ? Device::cpu : Device::acc);
    subgraphs_.targets.push_back(device == host_ ? kNone<TargetId> : id_at<TargetId>(device));
    subgraphs_.sizes.push_back(0);
  }

  std::vector<std::vector<NodeId>> members_of_parts() const {
    std::vector<std::vector<NodeId>> members(subgraphs_.count());
    for (const NodeId node : graph_.nodes()) {
      members[index(subgraphs_.subgraph_of[node])].push_back(node);
    }
    return members;
  }

  // The whole part goes to the next target that takes it, else to the CPU.
  void move_on(std::span<const NodeId> nodes, TargetId from, const Reason& reason) {
    const DeviceIndex to = first_to_take(nodes, index(from) + 1);
    for (const NodeId node : nodes) {
      verdicts_[index(from)].reasons[node] = reason;
      device_of_[node] = to;
    }
  }

  void find_min_sizes() {
    for (std::size_t target = 0; target < host_; ++target) {
      verdicts_[target].min_acc_size = input_.targets[target].min_acc_size;
      if (!options_.is_min_automatic) continue;
      const OwnTimes own = own_times(target);
      verdicts_[target].min_acc_size =
          fastest_min_size(graph_, seen_by(target), own.input(options_.residency));
    }
  }

  bool move_small_parts() {
    bool has_moved = false;
    const auto members = members_of_parts();
    for (std::size_t i = 0; i < members.size(); ++i) {
      const TargetId target = subgraphs_.targets[i];
      if (target == kNone<TargetId>) continue;
      if (members[i].size() >= verdicts_[index(target)].min_acc_size) continue;
      move_on(members[i], target,
              {.code = ReasonCode::small_subgraph,
               .size = static_cast<std::uint32_t>(members[i].size())});
      has_moved = true;
    }
    return has_moved;
  }

  // The subgraphs as one target sees them: its own are on the accelerator, all others on the other
  // side.
  Subgraphs seen_by(std::size_t target) const {
    Subgraphs seen = subgraphs_;
    seen.targets.clear();
    for (std::size_t i = 0; i < seen.count(); ++i) {
      const bool is_own = subgraphs_.targets[i] == id_at<TargetId>(target);
      seen.devices[i] = is_own ? Device::acc : Device::cpu;
    }
    return seen;
  }

  // Parts beyond the limits of their target's lists are cut. What is beyond a limit by itself goes
  // to the CPU.
  void cut_at_limits() {
    cuts_.subgraphs = cuts_.pieces = 0;  // rounds join the pieces of earlier cuts
    for (std::size_t target = 0; target < host_; ++target) {
      LimitsOfLists limits = limits_of_lists(lists_of(input_, input_.targets[target]));
      if (!limits.limits.is_any()) continue;
      const std::size_t first = input_.targets[target].first_list;
      for (std::uint16_t& list : limits.list) list = static_cast<std::uint16_t>(list + first);
      LimitedSubgraphs limited = limit_parts(
          graph_, fusions_, limits, {seen_by(target), std::move(verdicts_[target].reasons)});
      verdicts_[target].reasons = std::move(limited.merged.reasons);
      cuts_.subgraphs += limited.cuts.subgraphs;
      cuts_.pieces += limited.cuts.pieces;
      cuts_.nodes += limited.cuts.nodes;
      if (limited.cuts.subgraphs > 0) number_anew(target, limited.merged.subgraphs);
    }
  }

  // `cut` has the parts of the target in pieces, and neighbours on the other side as one: these are
  // told apart by the part that they were in before.
  void number_anew(std::size_t target, const Subgraphs& cut) {
    using Place = std::pair<std::uint32_t, std::uint32_t>;  // in `cut`, before
    const auto place_of = [&](NodeId node) {
      return Place{index(cut.subgraph_of[node]), index(subgraphs_.subgraph_of[node])};
    };
    std::vector<Place> places;
    for (const NodeId node : graph_.nodes()) {
      const Place place = place_of(node);
      places.push_back(place);
      const bool was_own = subgraphs_.targets[place.second] == id_at<TargetId>(target);
      if (was_own && cut.devices[place.first] == Device::cpu) device_of_[node] = host_;
    }
    std::sort(places.begin(), places.end());
    places.erase(std::unique(places.begin(), places.end()), places.end());
    const Subgraphs before = std::exchange(subgraphs_, Subgraphs());
    subgraphs_.subgraph_of = PerNode<PartId>(graph_.node_count(), kNone<PartId>);
    for (const NodeId node : graph_.nodes()) {
      const auto at =
          std::lower_bound(places.begin(), places.end(),
                           Place{index(cut.subgraph_of[node]), index(before.subgraph_of[node])});
      subgraphs_.subgraph_of[node] = id_at<PartId>(static_cast<std::size_t>(at - places.begin()));
    }
    std::vector<DeviceIndex> devices(places.size(), host_);
    for (const NodeId node : graph_.nodes()) {
      devices[index(subgraphs_.subgraph_of[node])] = device_of_[node];
    }
    for (const DeviceIndex device : devices) add_subgraph(device);
    for (const NodeId node : graph_.nodes())
      ++subgraphs_.sizes[index(subgraphs_.subgraph_of[node])];
  }

  // Parts that lack what the lists of their target ask of a whole partition.
  bool move_failing_parts() {
    if (!have_part_conditions(input_.lists)) return false;
    bool has_moved = false;
    const auto members = members_of_parts();
    for (std::size_t i = 0; i < members.size(); ++i) {
      const TargetId id = subgraphs_.targets[i];
      if (id == kNone<TargetId>) continue;
      const Target& target = input_.targets[index(id)];
      auto reason = failed_part_condition(graph_, lists_of(input_, target), members[i]);
      if (!reason) continue;
      reason->list = static_cast<std::uint16_t>(reason->list + target.first_list);
      move_on(members[i], id, *reason);
      has_moved = true;
    }
    return has_moved;
  }

  // Of the parts of a target beyond its number, those that are worth least move on.
  bool move_parts_beyond_number() {
    bool has_moved = false;
    for (std::size_t target = 0; target < host_ && !has_moved; ++target) {
      SplitOptions options = options_;
      options.most_kept = input_.targets[target].most_kept;
      const OwnTimes own = own_times(target);
      const LatencyInput latency = own.input(options_.residency);
      const KeptSubgraphs kept = keep_best_subgraphs(
          graph_, {seen_by(target), PerNode<Reason>(graph_.node_count())}, options,
          {.link = input_.targets[target].link,
           .latency = asks_for_latency(options_) ? &latency : nullptr});
      if (kept.cost.subgraphs == 0) continue;
      const auto members = members_of_parts();
      for (const auto& nodes : members) {
        const Reason& reason = kept.reasons[nodes.front()];
        const bool is_dropped = subgraphs_.targets[index(subgraphs_.subgraph_of[nodes.front()])] ==
                                    id_at<TargetId>(target) &&
                                reason.code != ReasonCode::none;
        if (is_dropped) move_on(nodes, id_at<TargetId>(target), reason);
      }
      add_cap(kept.cost);
      has_moved = true;
    }
    return has_moved;
  }

  // The times of one target as if it were the only one.
  struct OwnTimes {
    TargetTimes times;
    Machine machine;
    LatencyInput input(Residency residency) const { return {times, machine, residency}; }
  };

  OwnTimes own_times(std::size_t target) const {
    if (!asks_for_latency(options_)) return {};
    return {{latency_->times.cpu, latency_->times.on_target(target)},
            latency_->machine_with(target)};
  }

  // Parts of each target reach back for nodes of its earlier parts. All stay as they are if one of them
  // then lacks what lists ask of a whole partition.
  Status<> extend() {
    if (options_.extend.which == ExtendOptions::Which::none) return Done{};
    const bool is_one = options_.extend.which == ExtendOptions::Which::one;
    const std::size_t number = options_.extend.subgraph;
    const Subgraphs before = subgraphs_;
    Fusions own = fusions_;  // only nodes of the target itself are reached for
    for (std::size_t target = 0; target < host_; ++target) {
      const bool is_there = number < before.count() && before.devices[number] == Device::acc;
      if (is_one && is_there && before.targets[number] != id_at<TargetId>(target)) continue;
      const LimitsOfLists limits = limits_of_lists(lists_of(input_, input_.targets[target]));
      own.acc.nodes = NodeSet(graph_.node_count());
      for (const NodeId node : graph_.nodes()) {
        if (device_of_[node] == target) own.acc.nodes.insert(node);
      }
      auto made = extend_subgraphs(graph_, own, is_there || !is_one ? seen_by(target) : before,
                                   options_.extend, limits.limits);
      if (!made) return std::move(made).error();
      subgraphs_.subgraph_of = std::move(made->subgraphs.subgraph_of);
      subgraphs_.sizes = std::move(made->subgraphs.sizes);
      extended_.insert(extended_.end(), made->moved.begin(), made->moved.end());
      extensions_left_out_.insert(extensions_left_out_.end(), made->left_out.begin(),
                                  made->left_out.end());
    }
    std::sort(extended_.begin(), extended_.end());
    if (fails_a_condition()) {
      subgraphs_ = before;
      extended_.clear();
    }
    return Done{};
  }

  bool fails_a_condition() const {
    if (!have_part_conditions(input_.lists)) return false;
    const auto members = members_of_parts();
    for (std::size_t i = 0; i < members.size(); ++i) {
      const TargetId target = subgraphs_.targets[i];
      if (target == kNone<TargetId> || members[i].empty()) continue;
      const auto lists = lists_of(input_, input_.targets[index(target)]);
      if (failed_part_condition(graph_, lists, members[i])) return true;
    }
    return false;
  }

  void add_cap(const CapCost& cost) {
    cap_.subgraphs += cost.subgraphs;
    cap_.nodes += cost.nodes;
    cap_.flops += cost.flops;
    cap_.link_bytes += cost.link_bytes;
  }

  // ---- step 5 ----

  // Of a node on the CPU: what the last target says that has something to say.
  Reason reason_of(NodeId node) const {
    for (std::size_t target = host_; target-- > 0;) {
      const Reason& reason = verdicts_[target].reasons[node];
      if (reason.code != ReasonCode::none) return reason;
    }
    return {};
  }

  // What the target that runs a node says about it, for all nodes.
  Support joined_support() const {
    Support joined{NodeSet(graph_.node_count()), PerNode<Reason>(graph_.node_count())};
    for (const NodeId node : graph_.nodes()) {
      for (const TargetVerdicts& verdicts : verdicts_) {
        if (verdicts.support.supported.contains(node)) joined.supported.insert(node);
      }
    }
    for (std::size_t target = 0; target < host_; ++target) {
      const Support& support = verdicts_[target].support;
      for (const UncheckedNode& node : support.unchecked) {
        if (device_of_[node.node] == target) joined.unchecked.push_back(node);
      }
      for (std::size_t i = 0; i < support.patterns.count(); ++i) {
        const auto nodes = support.patterns.nodes_of(i);
        const bool runs = std::all_of(nodes.begin(), nodes.end(),
                                      [&](NodeId node) { return device_of_[node] == target; });
        if (runs) joined.patterns.add(support.patterns.matches[i], nodes);
      }
    }
    std::sort(joined.unchecked.begin(), joined.unchecked.end(),
              [](const auto& a, const auto& b) { return a.node < b.node; });
    return joined;
  }

  // A node that one target gave up has not been judged by those that were asked for what it left.
  void finish_reasons(PerNode<Reason>& reasons) {
    for (const NodeId node : graph_.nodes()) {
      const DeviceIndex device = device_of_[node];
      if (device != host_) {
        verdicts_[device].reasons[node] = {};
        fusions_.acc.nodes.insert(node);
      }
      for (std::size_t target = 0; target < device; ++target) {
        Reason& reason = verdicts_[target].reasons[node];
        if (reason.code == ReasonCode::none) reason = verdicts_[target].support.reasons[node];
      }
      if (device == host_) reasons[node] = reason_of(node);
    }
  }

  Split finish(SubgraphsFound found) {
    fusions_.acc = {NodeSet(graph_.node_count()), PerNode<Reason>(graph_.node_count())};
    PerNode<Reason> reasons(graph_.node_count());
    finish_reasons(reasons);
    cap_.kept = static_cast<std::size_t>(
        std::count(subgraphs_.devices.begin(), subgraphs_.devices.end(), Device::acc));
    Partition partition = make_partition(subgraphs_, options_);
    assert(check_partition(graph_, partition, nullptr).has_value());
    Boundaries boundaries = find_boundaries(graph_, partition);
    Split split;
    split.support = joined_support();
    split.acc_found.nodes = std::move(acc_found_);
    split.host_shapes = std::move(host_shapes_);
    split.qdq_groups = std::move(qdq_groups_);
    split.fusions = std::move(fusions_);
    split.found = std::move(found);
    split.limit_cuts = cuts_;
    split.merged_count = subgraphs_.count();
    split.least_acc_parts = least_acc_parts_;
    split.cap = cap_;
    split.extended = std::move(extended_);
    split.extensions_left_out = std::move(extensions_left_out_);
    split.reasons = std::move(reasons);
    split.partition = std::move(partition);
    split.boundaries = std::move(boundaries);
    split.targets = std::move(verdicts_);
    return split;
  }

  const SplitInput& input_;
  const LatencyInput* const latency_;
  const Graph& graph_;
  const SplitOptions& options_;
  const RequiredOn required_on_;
  const DeviceIndex host_;
  std::vector<TargetVerdicts> verdicts_;  // by target
  PerNode<DeviceIndex> device_of_;
  NodeSet acc_found_;
  QdqGroups qdq_groups_;
  std::vector<std::vector<NodeId>> groups_;  // of all targets, some no longer on one
  Fusions fusions_;
  Subgraphs subgraphs_;
  std::size_t least_acc_parts_ = 0;
  LimitCuts cuts_;
  CapCost cap_;
  HostShapes host_shapes_{NodeSet(graph_.node_count()), {}};
  std::vector<NodeId> extended_;
  std::vector<ExtensionLeftOut> extensions_left_out_;
};

// The split; one that divides a set is made again with the sets as groups.
template <class Make>
Result<Split> split_whole(const SplitInput& input, Make make) {
  const Sets sets = input.facts.whole;
  Result<Split> split = make(Sets{});
  if (!split || !divides_a_set(sets, split->partition.part_of)) return split;
  return make(sets);
}

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
bool keeps_required(const SplitInput& input, RequiredOn required_on, const Split& split,
                    const Split& other) {
  const auto target_in = [](const Split& of, NodeId node) {
    return of.partition.target(of.partition.part_of[node]);
  };
  for (const NodeId node : input.graph.nodes()) {
    if (input.required == nullptr || !input.required->contains(node)) continue;
    const bool is_on_cpu = target_in(split, node) == kNone<TargetId>;
    if (is_on_cpu && target_in(other, node) != kNone<TargetId>) return false;
  }
  for (std::size_t i = 0; i < required_on.size(); ++i) {
    const auto own = id_at<TargetId>(i);
    for (const NodeId node : required_on[i]) {
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
    return Error{"--place-goal energy: what " + name + " draws is not known",
                 std::nullopt,
                 {"give --target " + name + ":energy=2pJ/FLOP+30pJ/byte"}};
  }
  for (std::size_t i = 0; i < input.targets.size(); ++i) {
    const TargetTimes times{latency.times.cpu, latency.times.on_target(i)};
    auto known = check_latency_input({times, latency.machine_with(i), latency.residency});
    if (known) continue;
    Error error = std::move(known).error();
    error.message = input.targets[i].name + ": " + error.message;
    return error;
  }
  return Done{};
}

}  // namespace

bool takes_all(const Support& support, std::span<const NodeId> nodes) {
  return std::all_of(nodes.begin(), nodes.end(), [&](NodeId node) {
    if (!support.supported.contains(node)) return false;
    const auto match = support.patterns.match_of(node);
    if (!match) return true;
    const auto members = support.patterns.nodes_of(*match);
    return std::all_of(members.begin(), members.end(), [&](NodeId member) {
      return std::binary_search(nodes.begin(), nodes.end(), member);
    });
  });
}

Result<Split> split_for_targets(const SplitInput& input, const SplitOptions& options,
                                const Progress& progress, RequiredOn required_on) {
  auto supports = judge_for_each(input);
  if (!supports) return std::move(supports).error();
  std::vector<std::size_t> taking_part;
  for (std::size_t target = 0; target < supports->size(); ++target) {
    if ((*supports)[target].supported.count() > 0) taking_part.push_back(target);
  }
  const std::size_t only = taking_part.empty() ? 0 : taking_part.front();
  if (taking_part.size() < 2 && !is_for_several(options)) {
    return split_for_only(input, options, only, *std::move(supports), progress, required_on);
  }
  if (auto usable = check_options(options); !usable) return std::move(usable).error();
  const TargetTimes none;
  const LatencyInput latency{input.times == nullptr ? none : *input.times, options.machine,
                             options.residency, options.later, options.links};
  const PlaceGoal goal = options.place_goal;
  if (asks_for_latency(options)) {
    if (auto known = check_numbers(input, goal, latency); !known) return std::move(known).error();
  }
  const auto in_order_with = [&](const SplitOptions& with) {
    return split_whole(input, [&](Sets sets) {
      return TargetSplitter(input, with, *supports, required_on, &latency).run_in_order(sets);
    });
  };
  std::size_t without_host_shapes = 0;
  if (options.host_shapes) {
    SplitOptions plain = options;
    plain.host_shapes = false;
    plain.extend = {};
    without_host_shapes = in_order_with(plain)->merged_count;
  }
  auto ordered = in_order_with(options);
  if (!ordered) return ordered;
  Split& in_order = *ordered;
  in_order.count_without_host_shapes = without_host_shapes;
  if (options.place != PlaceBy::cost) return ordered;
  auto placed = split_whole(input, [&](Sets sets) {
    return TargetSplitter(input, options, *supports, required_on, &latency).run_by_cost(sets);
  });
  if (!placed) return placed;
  Split& by_cost = *placed;
  by_cost.count_without_host_shapes = without_host_shapes;
  const auto cost = [&](const Split& split) {
    if (goal == PlaceGoal::energy) {
      return device_use(input.graph, split.partition, latency).total_mj();
    }
    return cleave::latency(input.graph, split.partition, split.boundaries, latency).total_us;
  };
  by_cost.in_order_cost = cost(in_order);
  if (by_cost.unfit) return placed;
  // Steps after the placement move parts.
  by_cost.unfit = find_unfit(input.graph, by_cost, latency);
  const auto found = cost(by_cost);
  const bool costs_more = found && by_cost.in_order_cost && *found > *by_cost.in_order_cost;
  PlacementNumbers& numbers = *by_cost.placement;
  if (found && by_cost.in_order_cost && *by_cost.in_order_cost > 0) {
    numbers.gain = 1 - *found / *by_cost.in_order_cost;
  }
  numbers.is_too_little = numbers.gain < options.min_gain.value_or(0);
  const bool is_worse = by_cost.unfit || costs_more || numbers.is_too_little;
  const bool stays = is_worse && !find_unfit(input.graph, in_order, latency) &&
                     keeps_required(input, required_on, in_order, by_cost);
  numbers.is_too_little = numbers.is_too_little && stays && options.min_gain;
  if (!stays) return placed;
  in_order.placement = by_cost.placement;
  in_order.in_order_cost = by_cost.in_order_cost;
  return ordered;
}

}  // namespace cleave
