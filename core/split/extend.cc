// Extension backwards. A unit (a node, or a fusion group) is blocked by the units that read from
// it: a plain node blocks while it is before the target, a group wherever it is. A candidate moves
// when this call has moved every unit that blocks it.
//
// Targets come in descending order. So a node after the target no longer blocks what it once
// blocked, and one set of counters of blocking reads serves all targets: linear for all of them
// together.
#include <algorithm>
#include <vector>

#include "core/base/adjacency.h"
#include "core/split/contraction.h"
#include "core/split/link_traffic.h"
#include "core/split/subgraphs.h"

namespace cleave {
namespace {

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
        each_producer(unit, [&](std::uint32_t maker) { --blockers_[maker]; });
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

  void block_producers(std::uint32_t unit) {
    each_producer(unit, [&](std::uint32_t maker) { ++blockers_[maker]; });
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
    each_producer(unit, [&](std::uint32_t maker) {
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

void append_nodes(std::vector<NodeId>& nodes, const std::vector<Move>& moves) {
  for (const Move& move : moves) nodes.push_back(move.node);
}

// False when the bytes over the link do not fall; `traffic` is then unchanged.
bool lowers_traffic(LinkTraffic& traffic, const std::vector<Move>& moves, PartId target) {
  const std::uint64_t before = traffic.bytes();
  for (const Move& move : moves) traffic.move(move.node, target);
  if (traffic.bytes() < before) return true;
  for (const Move& move : moves) traffic.move(move.node, move.from);
  return false;
}

template <class Accept>
std::vector<NodeId> extend_each(Extension& extension, const Subgraphs& subgraphs,
                                const Accept& accept) {
  std::vector<NodeId> moved;
  for (std::size_t i = subgraphs.count(); i-- > 0;) {
    if (subgraphs.devices[i] != Device::acc || subgraphs.sizes[i] == 0) continue;
    const auto target = id_at<PartId>(i);
    const std::vector<Move>& moves = extension.extend(target);
    if (accept(moves, target)) {
      append_nodes(moved, moves);
    } else {
      extension.undo();
    }
  }
  std::sort(moved.begin(), moved.end());
  return moved;
}

}  // namespace

std::vector<NodeId> extend_subgraph(const Graph& graph, const Fusions& fusions,
                                    Subgraphs& subgraphs, PartId target) {
  std::vector<NodeId> moved;
  append_nodes(moved, Extension(graph, fusions, subgraphs).extend(target));
  std::sort(moved.begin(), moved.end());
  return moved;
}

std::vector<NodeId> extend_all_subgraphs(const Graph& graph, const Fusions& fusions,
                                         Subgraphs& subgraphs) {
  Extension extension(graph, fusions, subgraphs);
  return extend_each(extension, subgraphs, [](const auto&, PartId) { return true; });
}

std::vector<NodeId> extend_where_traffic_falls(const Graph& graph, const Fusions& fusions,
                                               Subgraphs& subgraphs) {
  Extension extension(graph, fusions, subgraphs);
  LinkTraffic traffic(graph, subgraphs);
  return extend_each(extension, subgraphs, [&](const auto& moves, PartId target) {
    return !moves.empty() && lowers_traffic(traffic, moves, target);
  });
}

}  // namespace cleave
