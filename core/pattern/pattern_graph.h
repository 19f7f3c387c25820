// PatternGraph: the shape of a pattern, which is a small connected graph of ops without cycles.
//
//   ops    0 Conv  1 BatchNormalization  2 Relu
//   edges  0 -> 1, 1 -> 2
//
// An edge says that one op reads an output of another, from any output to any input unless it says
// which.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/graph/graph.h"

namespace cleave {

struct PatternEdge {
  std::uint32_t from = 0, to = 0;       // ops
  std::optional<std::uint32_t> output;  // of `from`; nullopt: any
  std::optional<std::uint32_t> input;   // of `to`, by position; nullopt: any, by keyword too
  bool operator==(const PatternEdge&) const = default;
};

struct PatternGraph {
  static constexpr std::size_t kMostOps = 16;
  static constexpr std::size_t kMostEdges = 256;
  std::size_t op_count = 0;
  std::vector<PatternEdge> edges;
  bool operator==(const PatternGraph&) const = default;
};

struct PatternFault {
  enum class Kind : std::uint8_t {
    no_op,
    too_many_ops,
    too_many_edges,
    no_such_op,     // edge `at` names an op that the pattern does not have
    repeated_edge,  // edge `at` is there already
    cycle,          // edge `at` is part of a cycle
    unconnected,    // no edges lead from op 0 to op `at`, in either direction
  };
  Kind kind;
  std::size_t at = 0;
};

// The first thing that makes the graph no pattern; nullopt when it is one.
std::optional<PatternFault> find_pattern_fault(const PatternGraph& pattern);

// Whether the operand of a node at `edge.to` may be what a node at `edge.from` makes: by the
// positions alone.
bool fits_edge(const Graph& graph, const PatternEdge& edge, const Operand& operand);

}  // namespace cleave
