// Extension backwards. A unit (a node, or a fusion group) is blocked by the units that read from
// it, or must run after it: a plain node blocks while it is before the target, a group wherever it
// is. A candidate moves when this call has moved every unit that blocks it.
//
// Targets come in descending order. So a node after the target no longer blocks what it once
// blocked, and one set of counters of blocking reads serves all targets: linear for all of them
// together.
#include "core/split/extend.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "core/base/adjacency.h"
#include "core/cost/cost.h"
#include "core/graph/graph.h"
#include "core/split/fusion.h"
#include "core/split/limit_parts.h"
#include "core/split/subgraphs.h"

namespace cleave {
namespace {

// LinkTraffic: the bytes of the tensors that enter or leave accelerator subgraphs, updated while
// nodes move from one subgraph to another. A value counts once for each accelerator subgraph that
// reads it from outside, and once when it leaves the one that makes it.

class LinkTraffic {
 public:
  // Linear in nodes + edges; about 40 bytes an edge.
  LinkTraffic(const Graph& graph, const Subgraphs& subgraphs);

  // Leaves out tensors of unknown size.
  std::uint64_t bytes() const { return bytes_; }
  // Linear in the node's operands and outputs.
  void move(NodeId node, PartId to);

 private:
  bool is_acc(PartId part) const { return devices_[index(part)] == Device::acc; }
  std::uint32_t reads_in(ValueId value, PartId part) const;
  void add_read(ValueId value, PartId part);
  void remove_read(ValueId value, PartId part);
  std::uint64_t bytes_of(ValueId value) const;

  const Graph& graph_;
  const std::vector<Device> devices_;
  PerNode<PartId> part_of_;
  std::unordered_map<std::uint64_t, std::uint32_t> reads_;  // by value and subgraph; has no zeros
  PerValue<std::uint32_t> reading_parts_;                   // subgraphs that read the value
  PerValue<std::uint32_t> reading_acc_parts_;
  std::uint64_t bytes_ = 0;
};

std::uint64_t key(ValueId value, PartId part) {
  return std::uint64_t{index(value)} << 32U | index(part);
}

LinkTraffic::LinkTraffic(const Graph& graph, const Subgraphs& subgraphs)
    : graph_(graph),
      devices_(subgraphs.devices),
      part_of_(subgraphs.subgraph_of),
      reading_parts_(graph.value_count(), 0),
      reading_acc_parts_(graph.value_count(), 0) {
  reads_.reserve(graph.edge_count());
  for (const NodeId node : graph.nodes()) {
    for (const Operand& operand : graph.operands(node)) add_read(operand.value, part_of_[node]);
  }
  for (const ValueId value : graph.inputs()) bytes_ += bytes_of(value);
  for (const NodeId node : graph.nodes()) {
    for (const ValueId value : graph.outputs(node)) bytes_ += bytes_of(value);
  }
}

std::uint32_t LinkTraffic::reads_in(ValueId value, PartId part) const {
  const auto found = reads_.find(key(value, part));
  return found == reads_.end() ? 0 : found->second;
}

void LinkTraffic::add_read(ValueId value, PartId part) {
  if (graph_.is_parameter(value) || ++reads_[key(value, part)] != 1) return;
  ++reading_parts_[value];
  if (is_acc(part)) ++reading_acc_parts_[value];
}

void LinkTraffic::remove_read(ValueId value, PartId part) {
  if (graph_.is_parameter(value)) return;
  const auto found = reads_.find(key(value, part));
  if (--found->second != 0) return;
  reads_.erase(found);
  --reading_parts_[value];
  if (is_acc(part)) --reading_acc_parts_[value];
}

// The value's share of bytes_; 0 for a parameter.
std::uint64_t LinkTraffic::bytes_of(ValueId id) const {
  const Value& value = graph_.value(id);
  std::uint64_t crossings = reading_acc_parts_[id];
  if (value.kind == ValueKind::node_output && is_acc(part_of_[value.producer])) {
    const std::uint32_t at_home = reads_in(id, part_of_[value.producer]) != 0 ? 1 : 0;
    crossings -= at_home;
    if (reading_parts_[id] != at_home || graph_.is_graph_output(id)) ++crossings;
  }
  return crossings == 0 ? 0 : crossings * value_bytes(graph_, id).value_or(0);
}

void LinkTraffic::move(NodeId node, PartId to) {
  const PartId from = part_of_[node];
  for (const Operand& operand : graph_.operands(node)) {
    bytes_ -= bytes_of(operand.value);
    remove_read(operand.value, from);
    add_read(operand.value, to);
    bytes_ += bytes_of(operand.value);
  }
  for (const ValueId value : graph_.outputs(node)) bytes_ -= bytes_of(value);
  part_of_[node] = to;
  for (const ValueId value : graph_.outputs(node)) bytes_ += bytes_of(value);
}

struct Move {
  NodeId node;
  PartId from;
};

class Extension {
 public:
  Extension(const Graph& graph, const Fusions& fusions, Subgraphs& subgraphs)
      : graph_(graph),
        acc_(fusions.acc.nodes),
        units_(graph, fusions),
        subgraphs_(subgraphs),
        members_(members_of(indices(subgraphs.subgraph_of), subgraphs.count())),
        target_(id_at<PartId>(subgraphs.count())),
        blockers_(units_.unit_count(), 0),
        candidate_for_(units_.unit_count(), kNone<PartId>),
        moved_to_(units_.unit_count(), kNone<PartId>) {
    for (std::uint32_t unit = 0; unit < units_.unit_count(); ++unit) block_producers(unit);
  }

  // Targets must descend from call to call. Returns the moves.
  const std::vector<Move>& extend(PartId target) {
    settle();
    go_down_to(target);
    for (const std::uint32_t member : members_.of(index(target))) {
      if (subgraphs_.subgraph_of[NodeId{member}] == target) {
        offer_producers(units_.unit_of(NodeId{member}));
      }
    }
    while (!ready_.empty()) {
      const std::uint32_t unit = ready_.back();
      ready_.pop_back();
      move(unit);
    }
    return moves_;
  }

  // Undoes the last call.
  void undo() {
    for (const Move& move : moves_) {
      put(move.node, move.from);
      const std::uint32_t unit = units_.unit_of(move.node);
      if (units_.first(unit) == move.node) block_producers(unit);
    }
    moves_.clear();
  }

 private:
  static std::vector<std::uint32_t> indices(const PerNode<PartId>& subgraph_of) {
    std::vector<std::uint32_t> result;
    result.reserve(subgraph_of.size());
    for (const PartId subgraph : subgraph_of) result.push_back(index(subgraph));
    return result;
  }

  // Groups that the last call moved block again.
  void settle() {
    for (const Move& move : moves_) {
      const std::uint32_t unit = units_.unit_of(move.node);
      if (units_.is_group(unit) && units_.first(unit) == move.node) block_producers(unit);
    }
    moves_.clear();
  }

  // Plain nodes in the subgraphs from `target` up to the target before it no longer block.
  void go_down_to(PartId target) {
    for (std::uint32_t at = index(target); at < index(target_); ++at) {
      for (const std::uint32_t member : members_.of(at)) {
        const std::uint32_t unit = units_.unit_of(NodeId{member});
        if (units_.is_group(unit) || subgraphs_.subgraph_of[NodeId{member}] != PartId{at}) continue;
        each_leader(unit, [&](std::uint32_t maker) { --blockers_[maker]; });
      }
    }
    target_ = target;
  }

  // The units that `unit` reads from, once per operand.
  template <class Visit>
  void each_producer(std::uint32_t unit, const Visit& visit) const {
    for (const NodeId node : units_.nodes(unit)) {
      for (const Operand& operand : graph_.operands(node)) {
        const Value& value = graph_.value(operand.value);
        if (value.kind != ValueKind::node_output) continue;
        const std::uint32_t maker = units_.unit_of(value.producer);
        if (maker != unit) visit(maker);
      }
    }
  }

  // Those, and the units that must run before `unit` for another reason.
  template <class Visit>
  void each_leader(std::uint32_t unit, const Visit& visit) const {
    each_producer(unit, visit);
    for (const NodeId node : units_.nodes(unit)) {
      for (const NodeId leader : graph_.leaders(node)) {
        if (units_.unit_of(leader) != unit) visit(units_.unit_of(leader));
      }
    }
  }

  void block_producers(std::uint32_t unit) {
    each_leader(unit, [&](std::uint32_t maker) { ++blockers_[maker]; });
  }

  void offer_producers(std::uint32_t unit) {
    each_producer(unit, [&](std::uint32_t maker) {
      if (subgraphs_.subgraph_of[units_.first(maker)] == target_) return;
      candidate_for_[maker] = target_;
      queue_when_free(maker);
    });
  }

  void queue_when_free(std::uint32_t unit) {
    if (candidate_for_[unit] != target_ || moved_to_[unit] == target_) return;
    if (blockers_[unit] != 0 || !acc_.contains(units_.first(unit))) return;
    moved_to_[unit] = target_;
    ready_.push_back(unit);
  }

  // A unit that moves was before the target, and therefore blocked.
  void move(std::uint32_t unit) {
    each_leader(unit, [&](std::uint32_t maker) {
      --blockers_[maker];
      queue_when_free(maker);
    });
    for (const NodeId node : units_.nodes(unit)) {
      moves_.push_back({node, subgraphs_.subgraph_of[node]});
      put(node, target_);
    }
    offer_producers(unit);
  }

  void put(NodeId node, PartId subgraph) {
    --subgraphs_.sizes[index(subgraphs_.subgraph_of[node])];
    ++subgraphs_.sizes[index(subgraph)];
    subgraphs_.subgraph_of[node] = subgraph;
  }

  const Graph& graph_;
  const NodeSet& acc_;
  const Contraction units_;
  Subgraphs& subgraphs_;
  const Adjacency members_;  // of each subgraph, before anything moved
  PartId target_;
  std::vector<std::uint32_t> blockers_;  // by unit: reads by units that block
  std::vector<PartId> candidate_for_, moved_to_;
  std::vector<std::uint32_t> ready_;
  std::vector<Move> moves_;  // by the last call
};

// Says of one extension after another whether it is made, and what it then changes.
class Judge {
 public:
  Judge(const Graph& graph, const Subgraphs& subgraphs, const ExtendOptions& options,
        const PartLimits& limits)
      : devices_(subgraphs.devices), limits_(limits) {
    if (options.which == ExtendOptions::Which::automatic) traffic_.emplace(graph, subgraphs);
    if (limits.is_any()) counts_.emplace(graph, subgraphs, limits);
  }

  // True when the bytes over the link fall, or need not.
  bool lowers_traffic(const std::vector<Move>& moves, PartId target) {
    if (!traffic_) return true;
    const std::uint64_t before = traffic_->bytes();
    for (const Move& move : moves) traffic_->move(move.node, target);
    if (traffic_->bytes() < before) return true;
    for (const Move& move : moves) traffic_->move(move.node, move.from);
    return false;
  }

  // After lowers_traffic(): a limit that a subgraph would be beyond.
  std::optional<PartLimit> exceeds(const std::vector<Move>& moves, PartId target) {
    if (!counts_) return std::nullopt;
    for (const Move& move : moves) counts_->move(move.node, target);
    std::optional<PartLimit> limit = limit_exceeded(counts_->of(target), limits_);
    for (std::size_t i = 0; i < moves.size() && !limit; ++i) {
      if (devices_[index(moves[i].from)] != Device::acc) continue;
      limit = limit_exceeded(counts_->of(moves[i].from), limits_);
    }
    if (!limit) return std::nullopt;
    for (const Move& move : moves) {
      counts_->move(move.node, move.from);
      if (traffic_) traffic_->move(move.node, move.from);
    }
    return limit;
  }

 private:
  const std::vector<Device> devices_;
  const PartLimits& limits_;
  std::optional<LinkTraffic> traffic_;  // when bytes must fall
  std::optional<PartCounts> counts_;    // when there are limits
};

// The subgraphs to extend, from the last to the first.
std::vector<PartId> targets_of(const Subgraphs& subgraphs, const ExtendOptions& options) {
  if (options.which == ExtendOptions::Which::none) return {};
  if (options.which == ExtendOptions::Which::one) return {id_at<PartId>(options.subgraph)};
  std::vector<PartId> targets;
  for (std::size_t i = subgraphs.count(); i-- > 0;) {
    if (subgraphs.devices[i] == Device::acc) targets.push_back(id_at<PartId>(i));
  }
  return targets;
}

Error no_such_subgraph(std::size_t number, const Subgraphs& subgraphs) {
  std::string have;
  for (std::size_t i = 0; i < subgraphs.count(); ++i) {
    if (subgraphs.devices[i] == Device::acc) have += (have.empty() ? "" : ", ") + std::to_string(i);
  }
  return {"there is no accelerator subgraph " + std::to_string(number) + " to extend",
          std::nullopt,
          {have.empty() ? "the split has no accelerator subgraph" : "there are: " + have}};
}

}  // namespace

Result<ExtendedSubgraphs> extend_subgraphs(const Graph& graph, const Fusions& fusions,
                                           Subgraphs subgraphs, const ExtendOptions& options,
                                           const PartLimits& limits) {
  const std::vector<PartId> targets = targets_of(subgraphs, options);
  if (options.which == ExtendOptions::Which::one) {
    const std::size_t number = options.subgraph;
    const bool is_there = number < subgraphs.count() && subgraphs.devices[number] == Device::acc;
    if (!is_there) return no_such_subgraph(number, subgraphs);
  }
  ExtendedSubgraphs made{.subgraphs = std::move(subgraphs), .moved = {}, .left_out = {}};
  if (targets.empty()) return made;
  Judge judge(graph, made.subgraphs, options, limits);
  Extension extension(graph, fusions, made.subgraphs);
  for (const PartId target : targets) {
    if (made.subgraphs.sizes[index(target)] == 0) continue;
    const std::vector<Move>& moves = extension.extend(target);
    if (moves.empty()) continue;
    if (!judge.lowers_traffic(moves, target)) {
      extension.undo();
    } else if (const auto limit = judge.exceeds(moves, target)) {
      made.left_out.push_back({target, moves.size(), *limit});
      extension.undo();
    } else {
      for (const Move& move : moves) made.moved.push_back(move.node);
    }
  }
  std::sort(made.moved.begin(), made.moved.end());
  std::reverse(made.left_out.begin(), made.left_out.end());
  return made;
}

}  // namespace cleave
