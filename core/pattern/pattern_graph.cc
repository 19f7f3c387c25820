#include "core/pattern/pattern_graph.h"

#include <algorithm>

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

}  // namespace cleave
