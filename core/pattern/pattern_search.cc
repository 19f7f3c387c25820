#include "core/pattern/pattern_search.h"

#include <algorithm>
#include <utility>

namespace cleave {
namespace {

using Kind = PatternFault::Kind;

std::optional<PatternFault> fault_of_edges(const PatternGraph& pattern) {
  const auto& edges = pattern.edges;
  for (std::size_t i = 0; i < edges.size(); ++i) {
    if (std::max(edges[i].from, edges[i].to) >= pattern.op_count) {
      return PatternFault{Kind::no_such_op, i};
    }
    const auto end = edges.begin() + static_cast<std::ptrdiff_t>(i);
    if (std::find(edges.begin(), end, edges[i]) != end) return PatternFault{Kind::repeated_edge, i};
  }
  return std::nullopt;
}

// Takes away ops that read no op that is left. What then remains contains a cycle.
std::optional<PatternFault> find_cycle(const PatternGraph& pattern) {
  std::vector<bool> is_done(pattern.op_count);
  const auto waits = [&](std::size_t op) {
    return std::any_of(pattern.edges.begin(), pattern.edges.end(), [&](const PatternEdge& edge) {
      return edge.to == op && !is_done[edge.from];
    });
  };
  for (std::size_t round = 0; round < pattern.op_count; ++round) {
    for (std::size_t op = 0; op < pattern.op_count; ++op) {
      if (!is_done[op] && !waits(op)) is_done[op] = true;
    }
  }
  for (std::size_t i = 0; i < pattern.edges.size(); ++i) {
    if (!is_done[pattern.edges[i].from]) return PatternFault{Kind::cycle, i};
  }
  return std::nullopt;
}

std::optional<PatternFault> find_unconnected(const PatternGraph& pattern) {
  std::vector<bool> is_met(pattern.op_count);
  is_met[0] = true;
  for (std::size_t round = 0; round < pattern.op_count; ++round) {
    for (const PatternEdge& edge : pattern.edges) {
      if (is_met[edge.from] || is_met[edge.to]) is_met[edge.from] = is_met[edge.to] = true;
    }
  }
  const auto missed = std::find(is_met.begin(), is_met.end(), false);
  if (missed == is_met.end()) return std::nullopt;
  return PatternFault{Kind::unconnected, static_cast<std::size_t>(missed - is_met.begin())};
}

}  // namespace

std::optional<PatternFault> find_pattern_fault(const PatternGraph& pattern) {
  if (pattern.op_count == 0) return PatternFault{Kind::no_op};
  if (pattern.op_count > PatternGraph::kMostOps) return PatternFault{Kind::too_many_ops};
  if (pattern.edges.size() > PatternGraph::kMostEdges) return PatternFault{Kind::too_many_edges};
  if (const auto fault = fault_of_edges(pattern)) return fault;
  if (const auto fault = find_cycle(pattern)) return fault;
  return find_unconnected(pattern);
}

bool fits_edge(const Graph& graph, const PatternEdge& edge, const Operand& operand) {
  if (operand.slot.is_capture()) return false;
  if (edge.output && graph.value(operand.value).slot != *edge.output) return false;
  if (!edge.input) return true;
  return operand.slot.is_positional() && operand.slot.position() == *edge.input;
}

// Steps of one search:
// 1. plan: an order of the ops in which each has an edge to one before it, starting at the anchor;
// 2. for each op in turn, try the nodes at the other end of that edge; go back when none fits;
// 3. when all ops have nodes, check what concerns them all: other edges, readers outside.
// The miss that is kept is the one with the most ops placed, then the most telling kind.

PatternSearch::PatternSearch(const PatternQuery& query, std::uint32_t anchor_op)
    : query_(query), anchor_op_(anchor_op), nodes_(query.pattern.op_count, kNone<NodeId>) {
  std::vector<bool> is_placed(query.pattern.op_count);
  is_placed[anchor_op] = true;
  const auto& edges = query.pattern.edges;
  for (std::size_t round = 1; round < query.pattern.op_count; ++round) {
    const auto next = std::find_if(edges.begin(), edges.end(), [&](const PatternEdge& edge) {
      return is_placed[edge.from] != is_placed[edge.to];
    });
    if (next == edges.end()) return;  // not connected: a fault of the pattern
    const bool is_forward = is_placed[next->from];
    const std::uint32_t op = is_forward ? next->to : next->from;
    plan_.push_back({op, static_cast<std::uint32_t>(next - edges.begin()), is_forward});
    is_placed[op] = true;
  }
}

bool PatternSearch::run(NodeId anchor) {
  std::fill(nodes_.begin(), nodes_.end(), kNone<NodeId>);
  miss_ = {};
  miss_rank_ = -1;
  placed_ = 0;
  last_step_ = steps_ + kMostSteps;
  ++steps_;
  const NodeFit fit = query_.fit(anchor_op_, anchor);
  if (fit != NodeFit::fits) {
    const auto kind = fit == NodeFit::failing  ? PatternMiss::Kind::failing
                      : fit == NodeFit::denied ? PatternMiss::Kind::denied
                      : fit == NodeFit::taken  ? PatternMiss::Kind::taken
                                               : PatternMiss::Kind::no_neighbor;
    note({.kind = kind, .op = anchor_op_, .node = anchor});
    return false;
  }
  nodes_[anchor_op_] = anchor;
  placed_ = 1;
  return place(0);
}

bool PatternSearch::place(std::size_t depth) {
  if (depth == plan_.size()) return is_complete();
  const bool had_right_op = std::exchange(has_right_op_, false);
  const bool found = plan_[depth].is_forward ? place_readers(depth) : place_makers(depth);
  if (!found && !has_right_op_) {
    const PatternEdge& edge = query_.pattern.edges[plan_[depth].edge];
    note({.kind = PatternMiss::Kind::no_neighbor,
          .op = plan_[depth].op,
          .edge = plan_[depth].edge,
          .node = nodes_[plan_[depth].is_forward ? edge.from : edge.to]});
  }
  has_right_op_ = had_right_op;
  return found;
}

bool PatternSearch::place_readers(std::size_t depth) {
  const PatternEdge& edge = query_.pattern.edges[plan_[depth].edge];
  for (const ValueId value : query_.graph.outputs(nodes_[edge.from])) {
    if (edge.output && query_.graph.value(value).slot != *edge.output) continue;
    if (!can_be_inner(value)) continue;
    for (const NodeId reader : query_.graph.users(value)) {
      if (is_over()) return false;
      if (try_node(depth, reader)) return true;
    }
  }
  return false;
}

bool PatternSearch::place_makers(std::size_t depth) {
  const PatternEdge& edge = query_.pattern.edges[plan_[depth].edge];
  for (const Operand& operand : query_.graph.operands(nodes_[edge.to])) {
    const Value& value = query_.graph.value(operand.value);
    if (value.kind != ValueKind::node_output || !fits_edge(query_.graph, edge, operand)) continue;
    if (is_over()) return false;
    if (try_node(depth, value.producer)) return true;
  }
  return false;
}

bool PatternSearch::try_node(std::size_t depth, NodeId node) {
  using Miss = PatternMiss::Kind;
  const std::uint32_t op = plan_[depth].op;
  if (op_of(node) != query_.pattern.op_count) return false;
  const NodeFit fit = query_.fit(op, node);
  if (fit == NodeFit::other_op) return false;
  has_right_op_ = true;
  if (fit != NodeFit::fits) {
    const Miss kind = fit == NodeFit::failing  ? Miss::failing
                      : fit == NodeFit::denied ? Miss::denied
                                               : Miss::taken;
    note({.kind = kind, .op = op, .node = node});
    return false;
  }
  nodes_[op] = node;
  bool found = true;
  for (std::uint32_t i = 0; i < query_.pattern.edges.size() && found; ++i) {
    const PatternEdge& edge = query_.pattern.edges[i];
    if (edge.from != op && edge.to != op) continue;
    if (nodes_[edge.from] == kNone<NodeId> || nodes_[edge.to] == kNone<NodeId>) continue;
    found = has_edge(i);
    if (!found) {
      note({.kind = Miss::no_edge, .edge = i, .node = nodes_[edge.to], .other = nodes_[edge.from]});
    }
  }
  if (found) {
    ++placed_;
    found = place(depth + 1);
    --placed_;
  }
  if (!found) nodes_[op] = kNone<NodeId>;
  return found;
}

bool PatternSearch::is_complete() {
  if (!edges_are_listed() || !values_stay_inside()) return false;
  if (query_.whole_fits(nodes_)) return true;
  note({.kind = PatternMiss::Kind::whole, .nodes = nodes_});
  return false;
}

bool PatternSearch::edges_are_listed() {
  for (std::uint32_t to = 0; to < nodes_.size(); ++to) {
    for (const Operand& operand : query_.graph.operands(nodes_[to])) {
      ++steps_;
      const Value& value = query_.graph.value(operand.value);
      if (value.kind != ValueKind::node_output) continue;
      const std::uint32_t from = op_of(value.producer);
      if (from == query_.pattern.op_count || is_listed(from, to, operand)) continue;
      note({.kind = PatternMiss::Kind::other_edge, .node = nodes_[to], .other = value.producer});
      return false;
    }
  }
  return true;
}

bool PatternSearch::values_stay_inside() {
  for (const NodeId node : nodes_) {
    for (const ValueId value : query_.graph.outputs(node)) {
      ++steps_;
      const auto readers = query_.graph.users(value);
      const auto is_inside = [&](NodeId reader) {
        return op_of(reader) != query_.pattern.op_count;
      };
      if (std::none_of(readers.begin(), readers.end(), is_inside)) continue;
      const auto outside = std::find_if_not(readers.begin(), readers.end(), is_inside);
      if (outside == readers.end() && !query_.graph.is_graph_output(value)) continue;
      note({.kind = PatternMiss::Kind::read_outside,
            .node = node,
            .other = outside == readers.end() ? kNone<NodeId> : *outside,
            .value = value});
      return false;
    }
  }
  return true;
}

// False if the value can never be internal to a match.
bool PatternSearch::can_be_inner(ValueId value) {
  const auto readers = query_.graph.users(value);
  const bool is_output = query_.graph.is_graph_output(value);
  if (!is_output && readers.size() < query_.pattern.op_count) return true;
  if (readers.empty()) return false;
  has_right_op_ = true;
  note({.kind = PatternMiss::Kind::read_outside,
        .node = query_.graph.value(value).producer,
        .other = is_output ? kNone<NodeId> : readers.back(),
        .value = value});
  return false;
}

bool PatternSearch::has_edge(std::uint32_t edge) const {
  const PatternEdge& wanted = query_.pattern.edges[edge];
  const auto operands = query_.graph.operands(nodes_[wanted.to]);
  return std::any_of(operands.begin(), operands.end(), [&](const Operand& operand) {
    const Value& value = query_.graph.value(operand.value);
    return value.kind == ValueKind::node_output && value.producer == nodes_[wanted.from] &&
           fits_edge(query_.graph, wanted, operand);
  });
}

bool PatternSearch::is_listed(std::uint32_t from, std::uint32_t to, const Operand& operand) const {
  const auto& edges = query_.pattern.edges;
  return std::any_of(edges.begin(), edges.end(), [&](const PatternEdge& edge) {
    return edge.from == from && edge.to == to && fits_edge(query_.graph, edge, operand);
  });
}

std::uint32_t PatternSearch::op_of(NodeId node) const {
  return static_cast<std::uint32_t>(std::find(nodes_.begin(), nodes_.end(), node) - nodes_.begin());
}

bool PatternSearch::is_over() {
  if (++steps_ <= last_step_) return false;
  has_right_op_ = true;
  note({.kind = PatternMiss::Kind::too_long, .node = nodes_[anchor_op_]});
  return true;
}

void PatternSearch::note(PatternMiss miss) {
  constexpr int kKinds = 16;
  miss.placed = placed_;
  const int rank = miss.kind == PatternMiss::Kind::too_long
                       ? kKinds * static_cast<int>(nodes_.size() + 1)
                       : kKinds * static_cast<int>(placed_) + static_cast<int>(miss.kind);
  if (rank <= miss_rank_) return;
  miss_rank_ = rank;
  miss_ = std::move(miss);
}

}  // namespace cleave
