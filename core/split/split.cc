// The driver of a split, and how nodes become partitions.
#include "core/split/split.h"

#include <algorithm>
#include <array>
#include <cassert>
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
  NonTensorMoves(const Graph& graph, Fusions& fusions, Subgraphs& subgraphs)
      : graph_(graph), fusions_(fusions), subgraphs_(subgraphs) {}

  void run() {
    std::vector<std::vector<NodeId>> candidates(subgraphs_.count());
    for (const NodeId node : graph_.nodes()) {
      const PartId home = subgraphs_.subgraph_of[node];
      const bool is_acc = subgraphs_.devices[index(home)] == Device::acc;
      if (is_acc && makes_non_tensor(node) && has_readers_outside(node)) {
        candidates[index(home)].push_back(node);
      }
    }
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      move_from(id_at<PartId>(i), {candidates[i].begin(), candidates[i].end()});
    }
  }

 private:
  bool makes_non_tensor(NodeId node) const {
    const auto outputs = graph_.outputs(node);
    return std::any_of(outputs.begin(), outputs.end(),
                       [&](ValueId output) { return !graph_.value(output).is_tensor(); });
  }

  bool has_readers_outside(NodeId node) const {
    const auto readers = graph_.readers(node);
    return std::any_of(readers.begin(), readers.end(), [&](NodeId reader) {
      return subgraphs_.subgraph_of[reader] != subgraphs_.subgraph_of[node];
    });
  }

  void move_from(PartId home, std::deque<NodeId> queue) {
    NodeSet looked_at(graph_.node_count());
    while (!queue.empty()) {
      const NodeId node = queue.front();
      queue.pop_front();
      if (!looked_at.insert(node) || subgraphs_.subgraph_of[node] != home) continue;
      const auto target = only_target(node);
      if (!target || !move_with_dependents(node, home, *target)) continue;
      for (const Operand& operand : graph_.operands(node)) {
        if (graph_.value(operand.value).kind != ValueKind::node_output) continue;
        const NodeId maker = graph_.value(operand.value).producer;
        if (subgraphs_.subgraph_of[maker] == home && makes_non_tensor(maker)) {
          queue.push_back(maker);
        }
      }
    }
  }

  // The subgraph of all readers outside the node's own; nullopt: there are several.
  std::optional<PartId> only_target(NodeId node) const {
    std::optional<PartId> target;
    for (const NodeId reader : graph_.readers(node)) {
      const PartId part = subgraphs_.subgraph_of[reader];
      if (part == subgraphs_.subgraph_of[node]) continue;
      if (target && *target != part) return std::nullopt;
      target = part;
    }
    return target;
  }

  // False, and nothing moves, if a dependent has a reader in a third subgraph or is in a fusion
  // group.
  bool move_with_dependents(NodeId node, PartId home, PartId target) {
    NodeSet found(graph_.node_count());
    std::vector<NodeId> moved = {node};
    found.insert(node);
    for (std::size_t i = 0; i < moved.size(); ++i) {
      if (fusions_.group_of[moved[i]] != kNone<GroupId>) return false;
      if (!graph_.followers(moved[i]).empty()) return false;
      for (const NodeId reader : graph_.readers(moved[i])) {
        const PartId part = subgraphs_.subgraph_of[reader];
        if (part == target) continue;
        if (part != home) return false;
        if (found.insert(reader)) moved.push_back(reader);
      }
    }
    for (const NodeId each : moved) put(each, node, home, target);
    return true;
  }

  void put(NodeId node, NodeId because, PartId home, PartId target) {
    subgraphs_.subgraph_of[node] = target;
    --subgraphs_.sizes[index(home)];
    ++subgraphs_.sizes[index(target)];
    if (subgraphs_.devices[index(target)] == Device::acc) return;
    fusions_.acc.nodes.erase(node);
    fusions_.acc.reasons[node] =
        node == because
            ? Reason{.code = ReasonCode::non_tensor_output, .because = reader_in(node, target)}
            : Reason{.code = ReasonCode::fusion_group, .because = because};
  }

  NodeId reader_in(NodeId node, PartId target) const {
    for (const NodeId reader : graph_.readers(node)) {
      if (subgraphs_.subgraph_of[reader] == target) return reader;
    }
    return kNone<NodeId>;
  }

  const Graph& graph_;
  Fusions& fusions_;
  Subgraphs& subgraphs_;
};

}  // namespace

NonTensorsMoved move_non_tensor_nodes(const Graph& graph, Fusions fusions, Subgraphs subgraphs) {
  NonTensorMoves(graph, fusions, subgraphs).run();
  return {std::move(fusions), std::move(subgraphs)};
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

// Puts what the piece was asked for in the places of the inputs and outputs that were found.
void put_ends(Boundaries& piece, const PieceEnds& ends) {
  std::vector<ValueId>& inputs = piece.inputs.items;
  std::erase_if(inputs, [&](ValueId value) {
    return std::find(ends.from.begin(), ends.from.end(), value) != ends.from.end();
  });
  std::sort(inputs.begin(), inputs.end());
  inputs.insert(inputs.begin(), ends.from.begin(), ends.from.end());
  piece.inputs.begin = {0, static_cast<std::uint32_t>(inputs.size())};
  piece.outputs.items = ends.to;
  piece.outputs.begin = {0, static_cast<std::uint32_t>(ends.to.size())};
}

}  // namespace

Boundaries find_boundaries(const Graph& graph, const Partition& partition,
                           const BoundaryOptions& options) {
  Readings readings(graph, partition, options);
  Boundaries result;
  result.inputs = std::move(readings.inputs);
  result.parameters = std::move(readings.parameters);
  result.constants = std::move(readings.constants);
  result.constant_copies = readings.constant_copies;
  result.outputs = by_maker(graph, partition, crossing_values(graph, partition));
  return result;
}

Boundaries find_piece_boundary(const Graph& graph, const Partition& piece, const PieceEnds* ends) {
  Readings readings(graph, piece, BoundaryOptions{});
  Boundaries result;
  result.inputs = std::move(readings.inputs);
  result.parameters = std::move(readings.parameters);
  result.constants = std::move(readings.constants);
  result.constant_copies = readings.constant_copies;
  if (ends != nullptr) {
    put_ends(result, *ends);
    return result;
  }
  const auto is_outside = [&](NodeId node) { return piece.part_of[node] == kNone<PartId>; };
  for (const NodeId node : piece.members) {
    for (const ValueId value : graph.outputs(node)) {
      const auto users = graph.users(value);
      if (graph.is_graph_output(value) || std::any_of(users.begin(), users.end(), is_outside)) {
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
  const auto is_new = [&](NodeId node) { return seen.insert(node).second; };
  for (const NodeId constant : boundaries.constants[part]) {
    if (!is_new(constant)) continue;
    walk_constants(
        graph, constant, is_new, [](ValueId) {}, [&](NodeId node) { needed.push_back(node); });
  }
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
  for (const NodeId constant : boundaries_.constants[part]) {
    if (!is_new(constant)) continue;
    walk_constants(
        graph_, constant, is_new, [](ValueId) {}, [&](NodeId node) { needed_.push_back(node); });
  }
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

// ---- split ----
//
// The main job, as one page. Data flows one way: each step returns a value that it made of the
// results of the steps above. What no later step needs is moved on, not copied.
//
//   supported nodes > accelerator nodes > groups > runs > partitions > boundaries

namespace {

constexpr std::uint64_t kPasses = 6;  // the number of steps that progress reports
using Sets = std::span<const std::vector<NodeId>>;

// Tells progress after each step.
class Passed {
 public:
  explicit Passed(const Progress& progress) : progress_(progress) { (*this)(0); }
  void operator()(std::uint64_t passes) const {
    tell(progress_, {"splitting", "passes", passes, kPasses});
  }

 private:
  const Progress& progress_;
};

// The times that options decide by: the caller's, else those of the machine's rates.
struct DecidingTimes {
  Machine machine;
  TargetTimes own;
  const TargetTimes* given;

  LatencyInput input(Residency residency) const {
    return {given != nullptr ? *given : own, machine, residency};
  }
};

DecidingTimes deciding_times(const SplitInput& input, const SplitOptions& options) {
  DecidingTimes times{options.machine, {}, input.times};
  times.machine.link_bytes_per_second = input.link.bytes_per_second;
  if (asks_for_latency(options) && input.times == nullptr) {
    times.own = target_times(input.graph, times.machine, {}, {});
  }
  return times;
}

Status<> check_options(const SplitOptions& options, const LatencyInput& latency) {
  if (auto usable = check_prefixes(options); !usable) return usable;
  return asks_for_latency(options) ? check_latency_input(latency) : Status<>(Done{});
}

struct Placed {
  Fusions fusions;
  std::optional<PlacementNumbers> numbers = {};  // with --place cost
  std::optional<CapacityExceeded> unfit = {};
};

// The least gain for which nodes move: what was asked for, else none where all times are measured.
double min_gain_of(const Graph& graph, const Fusions& groups, const SplitOptions& options,
                   const TargetTimes& times) {
  constexpr double kOfEstimates = 0.03;
  if (options.min_gain) return *options.min_gain;
  const auto nodes = graph.nodes();
  const bool is_measured = std::all_of(nodes.begin(), nodes.end(), [&](NodeId node) {
    return times.cpu.origins[node] == TimeOrigin::measured &&
           (!groups.acc.nodes.contains(node) || times.acc.origins[node] == TimeOrigin::measured);
  });
  return is_measured ? 0 : kOfEstimates;
}

// With --place cost, only those nodes stay on the accelerator that make an inference faster. Then
// the sets that an earlier split divided become groups.
Placed place(const SplitInput& input, const SplitOptions& options, const LatencyInput& latency,
             const HostShapes& host_shapes, Fusions groups, Sets sets) {
  Placed placed{std::move(groups)};
  if (options.place == PlaceBy::cost) {
    const double min_gain = min_gain_of(input.graph, placed.fusions, options, latency.times);
    PlacedByCost by_cost =
        place_by_cost(input.graph, std::move(placed.fusions),
                      {.latency = latency,
                       .allow_non_tensor = options.allow_non_tensor,
                       .required = input.required,
                       .shape_computations = options.host_shapes ? &host_shapes.nodes : nullptr,
                       .min_gain = min_gain,
                       .found = input.found});
    placed = {std::move(by_cost.fusions), by_cost.numbers, std::move(by_cost.unfit)};
  }
  if (!sets.empty()) {
    placed.fusions = keep_sets_whole(input.graph, sets, std::move(placed.fusions));
  }
  return placed;
}

struct Runs {
  Fusions fusions;  // its reasons have moved to `merged`
  SubgraphsFound found;
  std::size_t min_acc_size;
  MergedSubgraphs merged;
  LimitCuts cuts;
};

// Alternating runs, as long as possible; they start on the side that the placement assumes, unless
// the user chose one. Runs too small to be worth a transfer are merged away, and those beyond the
// lists' limits on partitions are cut. Then nodes that fit in two of them may move where fewer bytes
// cross. What then fails a list's conditions on a whole partition goes to the CPU.
Runs find_runs(const SplitInput& input, Placed placed, SplitOptions options,
               const LatencyInput& latency, const LimitsOfLists& limits) {
  const Graph& graph = input.graph;
  if (placed.numbers && options.start == StartSide::reference) {
    options.start = placed.numbers->start;
  }
  Fusions fusions = std::move(placed.fusions);
  SubgraphsFound found = split_subgraphs(graph, fusions, options);
  if (options.move_non_tensor) {
    NonTensorsMoved moved =
        move_non_tensor_nodes(graph, std::move(fusions), std::move(found.subgraphs));
    fusions = std::move(moved.fusions);
    found.subgraphs = std::move(moved.subgraphs);
  }
  if (options.is_min_automatic) {
    options.min_acc_size = fastest_min_size(graph, found.subgraphs, latency);
  }
  MergedSubgraphs merged =
      merge_small_subgraphs(graph, found.subgraphs, std::move(fusions.acc.reasons), options);
  LimitedSubgraphs limited = limit_parts(graph, fusions, limits, std::move(merged));
  if (options.pack == PackBy::bytes) {
    Subgraphs& subgraphs = limited.merged.subgraphs;
    subgraphs = pack_for_fewest_bytes(graph, fusions, std::move(subgraphs), options.min_acc_size,
                                      limits.limits)
                    .subgraphs;
  }
  limited.merged = drop_failing_parts(graph, input.lists, std::move(limited.merged));
  return {std::move(fusions), std::move(found), options.min_acc_size, std::move(limited.merged),
          limited.cuts};
}

// The number of subgraphs that the lists' own verdicts lead to: the measure of --host-shapes; 0
// without that option.
std::size_t count_without_host_shapes(const Graph& graph, const Support& support,
                                      const Whole& whole, const SplitOptions& options) {
  if (!options.host_shapes) return 0;
  const Fusions groups =
      find_groups(graph, find_acc_nodes(graph, support, options), whole, options);
  const SubgraphsFound found = split_subgraphs(graph, groups, options);
  return merge_small_subgraphs(graph, found.subgraphs, groups.acc.reasons, options)
      .subgraphs.count();
}

// Nodes that the extension moved are on the accelerator now. A subgraph that lost nodes to another may
// fail a condition on a whole partition.
MergedSubgraphs after_extension(const SplitInput& input, PerNode<Reason> reasons,
                                ExtendedSubgraphs& extended) {
  for (const NodeId node : extended.moved) reasons[node] = {};
  MergedSubgraphs merged = drop_failing_parts(input.graph, input.lists,
                                              {std::move(extended.subgraphs), std::move(reasons)});
  std::erase_if(extended.moved,
                [&](NodeId node) { return merged.reasons[node].code != ReasonCode::none; });
  return merged;
}

struct Judged {
  Support support;
  HostShapes host_shapes;
  AccNodes acc;
};

// Which nodes the lists accept, each judged by itself. With --host-shapes, shape computations then
// follow their users. Which of these nodes can run on the accelerator without non-tensor data
// crossing the link comes last: it depends on where the makers and readers of sizes are.
Result<Judged> judge_nodes(const SplitInput& input, const SplitOptions& options,
                           const Passed& passed) {
  auto support = judge_by_lists(input.graph, input.lists, input.facts);
  if (!support) return std::move(support).error();
  passed(1);
  const bool follows = options.host_shapes;
  HostShapes host_shapes = follows ? follow_shape_users(input.graph, *support) : HostShapes();
  AccNodes acc = find_acc_nodes(input.graph, follows ? host_shapes.support : *support, options);
  passed(2);
  return Judged{*std::move(support), std::move(host_shapes), std::move(acc)};
}

Result<Split> split_with_sets(const SplitInput& input, const SplitOptions& options,
                              const Progress& progress, Sets sets) {
  const Graph& graph = input.graph;
  const DecidingTimes times = deciding_times(input, options);
  const LatencyInput latency = times.input(options.residency);
  if (auto usable = check_options(options, latency); !usable) return std::move(usable).error();
  const Passed passed(progress);

  // Which nodes may run on the accelerator.
  auto judged = judge_nodes(input, options, passed);
  if (!judged) return std::move(judged).error();
  auto& [support, host_shapes, acc] = *judged;

  // Which nodes must stay together: because they exchange non-tensor data, then, if asked for, Q/DQ
  // groups, then the matches of patterns: a group counts only if all its nodes stay.
  QdqGroups qdq_groups = qdq_groups_asked_for(graph, options, input.lists);
  const Whole whole{qdq_groups, support.patterns};
  Fusions groups = find_groups(graph, acc, whole, options);
  const std::size_t count_without = count_without_host_shapes(graph, support, whole, options);
  passed(3);

  // Which of these nodes go to the accelerator, and in which runs.
  Placed placed = place(input, options, latency, host_shapes, std::move(groups), sets);
  const auto placement = placed.numbers;
  std::optional<CapacityExceeded> unfit = std::move(placed.unfit);
  const LimitsOfLists limits = limits_of_lists(input.lists);
  Runs runs = find_runs(input, std::move(placed), options, latency, limits);
  const std::size_t merged_count = runs.merged.subgraphs.count();
  passed(4);

  // If the number of runs is limited, the most valuable stay. This comes before the extension, in
  // which runs reach back for nodes that only they use: it may bring back some of the others.
  const KeepBasis basis{input.link, asks_for_latency(options) ? &latency : nullptr};
  KeptSubgraphs kept = keep_best_subgraphs(graph, std::move(runs.merged), options, basis);
  auto extended = extend_subgraphs(graph, runs.fusions, std::move(kept.subgraphs), options.extend,
                                   limits.limits);
  if (!extended) return std::move(extended).error();
  passed(5);

  // From here on the partitions are fixed. What crosses between them follows.
  MergedSubgraphs last = after_extension(input, std::move(kept.reasons), *extended);
  Partition partition = make_partition(last.subgraphs, options);
  assert(check_partition(graph, partition, nullptr).has_value());
  Boundaries boundaries = find_boundaries(graph, partition);
  return Split{.support = std::move(support),
               .host_shapes = std::move(host_shapes),
               .acc_found = std::move(acc),
               .qdq_groups = std::move(qdq_groups),
               .fusions = std::move(runs.fusions),
               .placement = placement,
               .found = std::move(runs.found),
               .min_acc_size = runs.min_acc_size,
               .limit_cuts = runs.cuts,
               .merged_count = merged_count,
               .count_without_host_shapes = count_without,
               .cap = kept.cost,
               .reasons = std::move(last.reasons),
               .extended = std::move(extended->moved),
               .extensions_left_out = std::move(extended->left_out),
               .partition = std::move(partition),
               .boundaries = std::move(boundaries),
               .unfit = std::move(unfit)};
}

}  // namespace

bool asks_for_latency(const SplitOptions& options) {
  return options.place == PlaceBy::cost || options.is_min_automatic || options.keep_only_gaining ||
         options.keep_by == KeepBy::latency;
}

Result<Support> judge_by_lists(const Graph& graph, std::span<const SupportList> lists,
                               const OpFacts& facts) {
  auto support = match_support_within(graph, lists, facts, kMostRuleChecks);
  if (support) return *std::move(support);
  return Error{.message =
                   "rules of the support lists, and terms of their \"where\", would be held "
                   "against nodes more than " +
                   std::to_string(kMostRuleChecks) + " times, the most that is done",
               .notes = {"too many rules are for the same op: give rules by the values of an "
                         "attribute, or fewer rules"}};
}

Result<Split> split_graph(const SplitInput& input, const SplitOptions& options,
                          const Progress& progress) {
  if (input.targets.size() > 1) return split_for_targets(input, options, progress);
  const Sets sets = input.facts.whole;
  auto split = split_with_sets(input, options, progress, {});
  if (!split || !divides_a_set(sets, split->partition.part_of)) return split;
  return split_with_sets(input, options, progress, sets);
}

}  // namespace cleave
