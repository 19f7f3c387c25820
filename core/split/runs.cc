// How nodes become runs, partitions and boundaries.
#include "core/split/split.h"

#include <algorithm>
#include <array>
#include <deque>
#include <numeric>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/base/min_cut.h"
#include "core/lists/support.h"
#include "core/split/groups.h"

namespace cleave {

// ---- partition ----

namespace {

// Nodes in no part go to a group after all parts.
std::vector<std::uint32_t> groups_of(const PerNode<PartId>& part_of, std::size_t part_count) {
  std::vector<std::uint32_t> result;
  result.reserve(part_of.size());
  for (const PartId part : part_of) {
    const bool is_in_part = part != kNone<PartId>;
    result.push_back(is_in_part ? index(part) : static_cast<std::uint32_t>(part_count));
  }
  return result;
}

}  // namespace

Partition make_partition(PerNode<PartId> part_of, std::vector<std::string> names,
                         std::vector<Device> devices, std::vector<TargetId> targets) {
  const Adjacency members = members_of(groups_of(part_of, names.size()), names.size() + 1);
  Partition result;
  result.names = std::move(names);
  result.devices = std::move(devices);
  result.targets = std::move(targets);
  result.part_of = std::move(part_of);
  result.member_begin.assign(members.begin.begin(), members.begin.end() - 1);
  const std::uint32_t member_count = result.member_begin.back();
  result.members.reserve(member_count);
  for (std::uint32_t i = 0; i < member_count; ++i) {
    result.members.push_back(NodeId{members.items[i]});
  }
  return result;
}

namespace {

Status<> check_pair(const std::string& one, const std::string& other, const std::string& sides) {
  const std::string& shorter = one.size() < other.size() ? one : other;
  const std::string& longer = one.size() < other.size() ? other : one;
  if (!longer.starts_with(shorter)) return Done{};
  const std::string rest = longer.substr(shorter.size());
  if (rest.find_first_not_of("0123456789") != rest.npos) return Done{};
  if (rest.empty()) {
    return Error{sides + " partitions have the same name prefix, \"" + one + '"',
                 std::nullopt,
                 {"give the two sides different prefixes"}};
  }
  return Error{
      "the name prefixes \"" + one + "\" and \"" + other + "\" differ only in digits",
      std::nullopt,
      {"two numbered partitions could get the same name: do not end the prefixes in digits"}};
}

}  // namespace

Status<> check_prefixes(const SplitOptions& options) {
  const std::vector<std::string>& targets = options.target_prefixes;
  if (targets.empty()) {
    return check_pair(options.acc_prefix, options.non_acc_prefix, "accelerator and CPU");
  }
  for (std::size_t i = 0; i < targets.size(); ++i) {
    if (auto done = check_pair(targets[i], options.non_acc_prefix, "accelerator and CPU"); !done) {
      return done;
    }
    for (std::size_t j = 0; j < i; ++j) {
      if (auto done = check_pair(targets[j], targets[i], "two targets'"); !done) return done;
    }
  }
  return Done{};
}

std::string acc_name(PartId subgraph, const SplitOptions& options) {
  return options.acc_prefix + std::to_string(index(subgraph));
}

Partition make_partition(const Subgraphs& subgraphs, const SplitOptions& options) {
  std::vector<PartId> part_of_subgraph(subgraphs.count(), kNone<PartId>);
  std::vector<std::string> names;
  std::vector<Device> devices;
  std::vector<TargetId> targets;
  const auto prefix_of = [&](std::size_t i) -> const std::string& {
    if (subgraphs.devices[i] == Device::cpu) return options.non_acc_prefix;
    if (subgraphs.targets.empty()) return options.acc_prefix;
    return options.target_prefixes[index(subgraphs.targets[i])];
  };
  for (std::size_t i = 0; i < subgraphs.count(); ++i) {
    if (subgraphs.sizes[i] == 0) continue;
    part_of_subgraph[i] = id_at<PartId>(names.size());
    names.push_back(prefix_of(i) + std::to_string(i));
    devices.push_back(subgraphs.devices[i]);
    if (!subgraphs.targets.empty()) targets.push_back(subgraphs.targets[i]);
  }
  PerNode<PartId> part_of = subgraphs.subgraph_of;
  for (std::size_t n = 0; n < part_of.size(); ++n) {
    PartId& part = part_of[id_at<NodeId>(n)];
    part = part_of_subgraph[index(part)];
  }
  return make_partition(std::move(part_of), std::move(names), std::move(devices),
                        std::move(targets));
}

Status<> check_partition(const Graph& graph, const Partition& partition, const NodeSet* acc) {
  const auto node_text = [&](NodeId node) {
    return "node \"" + std::string(graph.node(node).name) + '"';
  };
  for (const NodeId node : graph.nodes()) {
    const PartId part = partition.part_of[node];
    if (index(part) >= partition.count()) {
      return Error{node_text(node) + " is in no partition", node};
    }
    if (acc != nullptr && partition.is_acc(part) && !acc->contains(node)) {
      return Error{node_text(node) +
                       " cannot run on the accelerator, but is in accelerator partition \"" +
                       partition.name(part) + '"',
                   node};
    }
    for (const NodeId reader : graph.readers(node)) {
      if (partition.part_of[reader] >= part) continue;
      return Error{node_text(node) + " in partition \"" + partition.name(part) + "\" is read by " +
                       node_text(reader) + " in the earlier partition \"" +
                       partition.name(partition.part_of[reader]) + '"',
                   node};
    }
    for (const NodeId follower : graph.followers(node)) {
      if (partition.part_of[follower] >= part) continue;
      return Error{node_text(node) + " in partition \"" + partition.name(part) +
                       "\" must run before " + node_text(follower) +
                       " in the earlier partition \"" +
                       partition.name(partition.part_of[follower]) + '"',
                   node};
    }
  }
  return Done{};
}

// ---- subgraphs ----

// Steps:
// 1. choose the side to start on;
// 2. alternate between the sides, each time taking all units that are ready;
// 3. merge_small_subgraphs(): small accelerator subgraphs join the CPU.

namespace {

Device other(Device device) { return device == Device::acc ? Device::cpu : Device::acc; }

// Takes ready units in the current mode until none is left, then flips. A unit is ready when every
// unit that it reads from, or that must run before it, has been taken.
class Alternation {
 public:
  Alternation(const Graph& graph, const Contraction& units, const NodeSet& acc)
      : graph_(graph), units_(units), acc_(acc), waits_(units.unit_count(), 0) {
    for (const NodeId node : graph.nodes()) {
      for (const NodeId reader : graph.readers(node)) {
        if (units.unit_of(reader) != units.unit_of(node)) ++waits_[units.unit_of(reader)];
      }
      for (const NodeId follower : graph.followers(node)) {
        if (units.unit_of(follower) != units.unit_of(node)) ++waits_[units.unit_of(follower)];
      }
    }
  }

  Device reference_start() const {
    for (std::uint32_t unit = 0; unit < units_.unit_count(); ++unit) {
      if (waits_[unit] == 0 && device_of(unit) == Device::cpu && reads_input_or_parameter(unit)) {
        return Device::cpu;
      }
    }
    return Device::acc;
  }

  Subgraphs run(Device start) {
    std::vector<std::uint32_t> waits = waits_;
    std::array<std::vector<std::uint32_t>, 2> ready;  // by Device
    for (std::uint32_t unit = 0; unit < units_.unit_count(); ++unit) {
      if (waits[unit] == 0) queue(ready, unit);
    }
    Subgraphs result;
    result.subgraph_of = PerNode<PartId>(graph_.node_count(), kNone<PartId>);
    for (Device mode = start; !ready[0].empty() || !ready[1].empty(); mode = other(mode)) {
      auto& now = ready[static_cast<std::size_t>(mode)];
      if (now.empty()) continue;  // only at the start
      result.devices.push_back(mode);
      result.sizes.push_back(0);
      while (!now.empty()) {
        const std::uint32_t unit = now.back();
        now.pop_back();
        take(unit, result, waits, ready);
      }
    }
    return result;
  }

 private:
  using Ready = std::array<std::vector<std::uint32_t>, 2>;

  Device device_of(std::uint32_t unit) const {
    return acc_.contains(units_.first(unit)) ? Device::acc : Device::cpu;
  }
  void queue(Ready& ready, std::uint32_t unit) const {
    ready[static_cast<std::size_t>(device_of(unit))].push_back(unit);
  }
  bool reads_input_or_parameter(std::uint32_t unit) const {
    for (const NodeId node : units_.nodes(unit)) {
      for (const Operand& operand : graph_.operands(node)) {
        if (graph_.value(operand.value).kind != ValueKind::node_output) return true;
      }
    }
    return false;
  }

  void take(std::uint32_t unit, Subgraphs& result, std::vector<std::uint32_t>& waits,
            Ready& ready) const {
    for (const NodeId node : units_.nodes(unit)) {
      result.subgraph_of[node] = id_at<PartId>(result.devices.size() - 1);
      ++result.sizes.back();
      for (const NodeId reader : graph_.readers(node)) {
        const std::uint32_t to = units_.unit_of(reader);
        if (to != unit && --waits[to] == 0) queue(ready, to);
      }
      for (const NodeId follower : graph_.followers(node)) {
        const std::uint32_t to = units_.unit_of(follower);
        if (to != unit && --waits[to] == 0) queue(ready, to);
      }
    }
  }

  const Graph& graph_;
  const Contraction& units_;
  const NodeSet& acc_;
  std::vector<std::uint32_t> waits_;  // by unit: number of reads from units not yet taken
};

}  // namespace

SubgraphsFound split_subgraphs(const Graph& graph, const Fusions& fusions,
                               const SplitOptions& options) {
  const Contraction units(graph, fusions);
  Alternation alternation(graph, units, fusions.acc.nodes);
  Device start = alternation.reference_start();
  if (options.start == StartSide::cpu) start = Device::cpu;
  if (options.start == StartSide::acc) start = Device::acc;
  Subgraphs chosen = alternation.run(start);
  Subgraphs opposite = alternation.run(other(start));
  if (options.start == StartSide::fewest && opposite.count() < chosen.count()) {
    std::swap(chosen, opposite);
  }
  return {std::move(chosen), opposite.count()};
}

MergedSubgraphs merge_small_subgraphs(const Graph& graph, const Subgraphs& subgraphs,
                                      PerNode<Reason> reasons, const SplitOptions& options) {
  Subgraphs merged;
  std::vector<PartId> new_id(subgraphs.count());
  std::vector<bool> was_small(subgraphs.count(), false);
  for (std::size_t i = 0; i < subgraphs.count(); ++i) {
    const Device device = subgraphs.devices[i];
    const bool small = device == Device::acc && subgraphs.sizes[i] < options.min_acc_size;
    const bool follows_cpu = !merged.devices.empty() && merged.devices.back() == Device::cpu;
    const bool joins = small ? !merged.devices.empty() : device == Device::cpu && follows_cpu;
    if (!joins) {
      merged.devices.push_back(small ? Device::cpu : device);
      merged.sizes.push_back(0);
    }
    merged.sizes.back() += subgraphs.sizes[i];
    new_id[i] = id_at<PartId>(merged.count() - 1);
    was_small[i] = small;
  }
  merged.subgraph_of = PerNode<PartId>(graph.node_count(), kNone<PartId>);
  for (const NodeId node : graph.nodes()) {
    const std::uint32_t before = index(subgraphs.subgraph_of[node]);
    merged.subgraph_of[node] = new_id[before];
    if (was_small[before] && merged.devices[index(new_id[before])] == Device::cpu) {
      reasons[node] = {.code = ReasonCode::small_subgraph, .size = subgraphs.sizes[before]};
    }
  }
  return {std::move(merged), std::move(reasons)};
}

namespace {

class NonTensorMoves {
 public:
  NonTensorMoves(const Graph& graph, const Fusions& fusions, Subgraphs subgraphs,
                 const TargetTakes& takes)
      : graph_(graph), fusions_(fusions), takes_(takes), result_{std::move(subgraphs), {}} {}

  NonTensorsMoved run() && {
    std::vector<std::vector<NodeId>> candidates(runs().count());
    for (const NodeId node : graph_.nodes()) {
      const PartId home = run_of(node);
      const bool is_acc = runs().devices[index(home)] == Device::acc;
      if (is_acc && makes_non_tensor(graph_, node) && has_readers_outside(node)) {
        candidates[index(home)].push_back(node);
      }
    }
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      move_from(id_at<PartId>(i), {candidates[i].begin(), candidates[i].end()});
    }
    return std::move(result_);
  }

 private:
  const Subgraphs& runs() const { return result_.subgraphs; }
  PartId run_of(NodeId node) const { return runs().subgraph_of[node]; }

  bool has_readers_outside(NodeId node) const {
    return std::ranges::any_of(graph_.readers(node),
                               [&](NodeId reader) { return run_of(reader) != run_of(node); });
  }

  // First come, first moved: what a node has taken along is not asked for by a later one.
  void move_from(PartId home, std::deque<NodeId> queue) {
    NodeSet looked_at(graph_.node_count());
    while (!queue.empty()) {
      const NodeId node = queue.front();
      queue.pop_front();
      if (!looked_at.insert(node) || run_of(node) != home) continue;
      const auto to = only_reading_run(node);
      if (!to || !move_with_dependents(node, home, *to)) continue;
      for (const Operand& operand : graph_.operands(node)) {
        if (graph_.value(operand.value).kind != ValueKind::node_output) continue;
        const NodeId maker = graph_.value(operand.value).producer;
        if (run_of(maker) == home && makes_non_tensor(graph_, maker)) queue.push_back(maker);
      }
    }
  }

  // The run of all readers outside the node's own; nullopt: there are several.
  std::optional<PartId> only_reading_run(NodeId node) const {
    std::optional<PartId> only;
    for (const NodeId reader : graph_.readers(node)) {
      const PartId run = run_of(reader);
      if (run == run_of(node)) continue;
      if (only && *only != run) return std::nullopt;
      only = run;
    }
    return only;
  }

  // False, and nothing moves, if a dependent has a reader in a third run or is in a fusion group, or
  // another target does not take all that would move there.
  bool move_with_dependents(NodeId node, PartId home, PartId to) {
    NodeSet found(graph_.node_count());
    std::vector<NodeId> moved = {node};
    found.insert(node);
    for (std::size_t i = 0; i < moved.size(); ++i) {
      if (fusions_.group_of[moved[i]] != kNone<GroupId>) return false;
      if (!graph_.followers(moved[i]).empty()) return false;
      for (const NodeId reader : graph_.readers(moved[i])) {
        const PartId run = run_of(reader);
        if (run == to) continue;
        if (run != home) return false;
        if (found.insert(reader)) moved.push_back(reader);
      }
    }
    // The CPU takes all, and what stays on its target has been accepted there.
    const auto target_of = [&](PartId run) {
      return runs().targets.empty() ? kNone<TargetId> : runs().targets[index(run)];
    };
    const bool is_on_cpu = runs().devices[index(to)] == Device::cpu;
    const bool leaves_device = is_on_cpu || target_of(home) != target_of(to);
    if (leaves_device && !is_on_cpu) {
      std::ranges::sort(moved);
      if (!takes_(moved, target_of(home), target_of(to))) return false;
    }
    const NodeId because = *std::ranges::find_if(
        graph_.readers(node), [&](NodeId reader) { return run_of(reader) == to; });
    for (const NodeId each : moved) {
      result_.subgraphs.subgraph_of[each] = to;
      --result_.subgraphs.sizes[index(home)];
      ++result_.subgraphs.sizes[index(to)];
      if (!leaves_device) continue;
      result_.left.push_back(
          {each, to,
           each == node ? Reason{.code = ReasonCode::non_tensor_output, .because = because}
                        : Reason{.code = ReasonCode::fusion_group, .because = node}});
    }
    return true;
  }

  const Graph& graph_;
  const Fusions& fusions_;
  const TargetTakes& takes_;
  NonTensorsMoved result_;
};

}  // namespace

bool makes_non_tensor(const Graph& graph, NodeId node) {
  return std::ranges::any_of(graph.outputs(node),
                             [&](ValueId output) { return !graph.value(output).is_tensor(); });
}

NonTensorsMoved move_non_tensor_nodes(const Graph& graph, const Fusions& fusions,
                                      Subgraphs subgraphs, const TargetTakes& takes) {
  return NonTensorMoves(graph, fusions, std::move(subgraphs), takes).run();
}

Subgraphs with_cpu_neighbours_merged(const Subgraphs& subgraphs) {
  Subgraphs merged;
  std::vector<PartId> new_id;
  for (std::size_t i = 0; i < subgraphs.count(); ++i) {
    const Device device = subgraphs.devices[i];
    const bool joins =
        device == Device::cpu && !merged.devices.empty() && merged.devices.back() == Device::cpu;
    if (!joins) {
      merged.devices.push_back(device);
      if (!subgraphs.targets.empty()) merged.targets.push_back(subgraphs.targets[i]);
      merged.sizes.push_back(0);
    }
    merged.sizes.back() += subgraphs.sizes[i];
    new_id.push_back(id_at<PartId>(merged.count() - 1));
  }
  merged.subgraph_of = subgraphs.subgraph_of;
  for (std::size_t n = 0; n < merged.subgraph_of.size(); ++n) {
    PartId& subgraph = merged.subgraph_of[id_at<NodeId>(n)];
    subgraph = new_id[index(subgraph)];
  }
  return merged;
}

// ---- boundary ----
//
// Steps:
// 1. for each partition, list what its nodes read: inputs, parameters, and constants with what they
//    need in turn;
// 2. list the values that cross, and give each to the partition that makes it, as its output.

namespace {

// Walks what a constant is made of: depth first, with an explicit stack. Calls leave(node) for each
// constant after those that it uses, and read(parameter) for each parameter of the file that it
// reads. A constant that enter(node) refuses is passed over.
template <class Enter, class Read, class Leave>
void walk_constants(const Graph& graph, NodeId constant, const Enter& enter, const Read& read,
                    const Leave& leave) {
  struct Visit {
    NodeId node;
    std::size_t next;
  };
  std::vector<Visit> stack{{constant, 0}};
  while (!stack.empty()) {
    const NodeId node = stack.back().node;
    const auto operands = graph.operands(node);
    if (stack.back().next == operands.size()) {
      leave(node);
      stack.pop_back();
      continue;
    }
    const ValueId value = operands[stack.back().next++].value;
    const NodeId maker = graph.value(value).producer;
    if (maker == kNone<NodeId>) {
      read(value);
    } else if (enter(maker)) {
      stack.push_back({maker, 0});
    }
  }
}

// Collects what the nodes of each part read, part by part; a stamp keeps each value once a part.
class Readings {
 public:
  Readings(const Graph& graph, const Partition& partition, const BoundaryOptions& options)
      : graph_(graph),
        partition_(partition),
        pass_parameters_(options.pass_parameters),
        value_seen_(graph.value_count(), kNone<PartId>),
        owned_(options.pass_parameters ? graph.value_count() : 0, kNone<PartId>),
        constant_seen_(graph.constants().size(), kNone<PartId>) {
    for (const PartId part : partition.parts()) {
      inputs.begin.push_back(static_cast<std::uint32_t>(inputs.items.size()));
      parameters.begin.push_back(static_cast<std::uint32_t>(parameters.items.size()));
      constants.begin.push_back(static_cast<std::uint32_t>(constants.items.size()));
      part_ = part;
      if (pass_parameters_) mark_owned();
      for (const NodeId node : partition.nodes(part)) read_by(node);
    }
    inputs.begin.push_back(static_cast<std::uint32_t>(inputs.items.size()));
    parameters.begin.push_back(static_cast<std::uint32_t>(parameters.items.size()));
    constants.begin.push_back(static_cast<std::uint32_t>(constants.items.size()));
  }

  PerPartLists<ValueId> inputs, parameters;
  PerPartLists<NodeId> constants;
  std::size_t constant_copies = 0;

 private:
  void mark_owned() {
    for (const NodeId node : partition_.nodes(part_)) {
      for (const ValueId parameter : graph_.module_parameters(node)) owned_[parameter] = part_;
    }
  }

  void read_by(NodeId node) {
    for (const Operand& operand : graph_.operands(node)) read(operand.value);
    for (const ValueId parameter : graph_.module_parameters(node)) read(parameter);
  }

  void read(ValueId id) {
    if (value_seen_[id] == part_) return;
    value_seen_[id] = part_;
    const Value& value = graph_.value(id);
    if (value.kind == ValueKind::parameter) {
      if (value.producer != kNone<NodeId>) {
        need(value.producer);
      } else if (pass_parameters_ && owned_[id] != part_) {
        inputs.items.push_back(id);
      } else {
        parameters.items.push_back(id);
      }
    } else if (value.kind == ValueKind::input || partition_.part_of[value.producer] != part_) {
      inputs.items.push_back(id);
    }
  }

  bool is_new(NodeId constant) {
    PartId& seen = constant_seen_[index(constant) - graph_.node_count()];
    if (seen == part_) return false;
    seen = part_;
    return true;
  }

  // Lists the constant, and counts it with those that it is made of, whose parameters are listed.
  void need(NodeId constant) {
    if (!is_new(constant)) return;
    constants.items.push_back(constant);
    walk_constants(
        graph_, constant, [&](NodeId maker) { return is_new(maker); },
        [&](ValueId parameter) {
          if (value_seen_[parameter] == part_) return;
          value_seen_[parameter] = part_;
          parameters.items.push_back(parameter);
        },
        [&](NodeId) { ++constant_copies; });
  }

  const Graph& graph_;
  const Partition& partition_;
  const bool pass_parameters_;
  PartId part_ = kNone<PartId>;
  PerValue<PartId> value_seen_;
  PerValue<PartId> owned_;  // by a module of the part; only where parameters are passed
  std::vector<PartId> constant_seen_;
};

Boundaries without_outputs(Readings readings) {
  Boundaries result;
  result.inputs = std::move(readings.inputs);
  result.parameters = std::move(readings.parameters);
  result.constants = std::move(readings.constants);
  result.constant_copies = readings.constant_copies;
  return result;
}

// Values that cross, in the order in which a read from another part, or last the graph's output, is
// first met.
std::vector<ValueId> crossing_values(const Graph& graph, const Partition& partition) {
  std::vector<ValueId> crossing;
  ValueSet seen(graph.value_count());
  const auto made_by_node = [&](ValueId value) {
    return graph.value(value).kind == ValueKind::node_output;
  };
  for (const NodeId node : graph.nodes()) {
    if (partition.part_of[node] == kNone<PartId>) continue;
    for (const Operand& operand : graph.operands(node)) {
      const ValueId value = operand.value;
      if (!made_by_node(value)) continue;
      const PartId from = partition.part_of[graph.value(value).producer];
      if (from != partition.part_of[node] && seen.insert(value)) crossing.push_back(value);
    }
  }
  for (const ValueId value : graph.outputs()) {
    if (made_by_node(value) && seen.insert(value)) crossing.push_back(value);
  }
  return crossing;
}

// Distributes the values to the parts that make them and keeps their order.
PerPartLists<ValueId> by_maker(const Graph& graph, const Partition& partition,
                               const std::vector<ValueId>& values) {
  const auto part_of = [&](ValueId value) {
    return index(partition.part_of[graph.value(value).producer]);
  };
  PerPartLists<ValueId> result;
  result.begin.assign(partition.count() + 1, 0);
  for (const ValueId value : values) ++result.begin[part_of(value) + 1];
  std::partial_sum(result.begin.begin(), result.begin.end(), result.begin.begin());
  result.items.resize(values.size());
  std::vector<std::uint32_t> fill(result.begin.begin(), result.begin.end() - 1);
  for (const ValueId value : values) result.items[fill[part_of(value)]++] = value;
  return result;
}

// Adds the constants, and before each those that it is made of; of all of them those that are new.
template <class IsNew>
void add_needed(const Graph& graph, std::span<const NodeId> constants, const IsNew& is_new,
                std::vector<NodeId>& needed) {
  for (const NodeId constant : constants) {
    if (!is_new(constant)) continue;
    walk_constants(
        graph, constant, is_new, [](ValueId) {}, [&](NodeId node) { needed.push_back(node); });
  }
}

// Puts what the piece was asked for in the places of the inputs and outputs that were found.
void put_ends(Boundaries& piece, const PieceEnds& ends) {
  std::vector<ValueId>& inputs = piece.inputs.items;
  std::erase_if(inputs, [&](ValueId value) { return contains(ends.from, value); });
  std::ranges::sort(inputs);
  inputs.insert(inputs.begin(), ends.from.begin(), ends.from.end());
  piece.inputs.begin = {0, static_cast<std::uint32_t>(inputs.size())};
  piece.outputs.items = ends.to;
  piece.outputs.begin = {0, static_cast<std::uint32_t>(ends.to.size())};
}

}  // namespace

Boundaries find_boundaries(const Graph& graph, const Partition& partition,
                           const BoundaryOptions& options) {
  Boundaries result = without_outputs(Readings(graph, partition, options));
  result.outputs = by_maker(graph, partition, crossing_values(graph, partition));
  return result;
}

Boundaries find_piece_boundary(const Graph& graph, const Partition& piece, const PieceEnds* ends) {
  Boundaries result = without_outputs(Readings(graph, piece, BoundaryOptions{}));
  if (ends != nullptr) {
    put_ends(result, *ends);
    return result;
  }
  const auto is_outside = [&](NodeId node) { return piece.part_of[node] == kNone<PartId>; };
  for (const NodeId node : piece.members) {
    for (const ValueId value : graph.outputs(node)) {
      if (graph.is_graph_output(value) || std::ranges::any_of(graph.users(value), is_outside)) {
        result.outputs.items.push_back(value);
      }
    }
  }
  result.outputs.begin = {0, static_cast<std::uint32_t>(result.outputs.items.size())};
  return result;
}

std::vector<NodeId> needed_constants(const Graph& graph, const Boundaries& boundaries,
                                     PartId part) {
  std::vector<NodeId> needed;
  std::unordered_set<NodeId> seen;
  add_needed(
      graph, boundaries.constants[part], [&](NodeId node) { return seen.insert(node).second; },
      needed);
  return needed;
}

NeededConstants::NeededConstants(const Graph& graph, const Boundaries& boundaries)
    : graph_(graph), boundaries_(boundaries), seen_(graph.constants().size(), 0) {}

std::span<const NodeId> NeededConstants::of(PartId part) {
  ++calls_;
  needed_.clear();
  const auto is_new = [&](NodeId node) {
    return std::exchange(seen_[index(node) - graph_.node_count()], calls_) != calls_;
  };
  add_needed(graph_, boundaries_.constants[part], is_new, needed_);
  return needed_;
}

PerPartLists<PartId> find_dependencies(const Graph& graph, const Boundaries& boundaries) {
  const std::size_t count = boundaries.inputs.begin.size() - 1;
  PerValue<PartId> source(graph.value_count(), kNone<PartId>);
  PerPart<PartId> last_user(count, kNone<PartId>);
  PerPartLists<PartId> result;
  for (const PartId part : IdRange<PartId>(0, count)) {
    result.begin.push_back(static_cast<std::uint32_t>(result.items.size()));
    for (const ValueId value : boundaries.inputs[part]) {
      const PartId from = source[value];
      if (from == kNone<PartId> || last_user[from] == part) continue;
      last_user[from] = part;
      result.items.push_back(from);
    }
    for (const ValueId value : boundaries.outputs[part]) source[value] = part;
  }
  result.begin.push_back(static_cast<std::uint32_t>(result.items.size()));
  return result;
}

}  // namespace cleave
