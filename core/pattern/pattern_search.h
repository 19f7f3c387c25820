// Pattern search: finds the nodes of a graph that match a pattern around one node, the *anchor*.
//
// A match gives each op of the pattern a node of its own, such that
//  - each node fits its op, which the caller decides;
//  - each edge of the pattern is there: the node at `to` reads the node at `from`;
//  - there is no other edge: what one of the nodes reads from another fits an edge of the pattern;
//  - a value that one of the nodes reads from another is *inner*: no other node reads it, and it is
//    no output of the graph;
//  - the nodes fit as a whole, which the caller decides, too.
// An inner value has fewer readers than the pattern has ops: so few nodes are candidates for an op.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "core/graph/graph.h"

namespace cleave {

// PatternGraph: the shape of a pattern, which is a small connected graph of ops without cycles.
//
//   ops    0 Conv  1 BatchNormalization  2 Relu
//   edges  0 -> 1, 1 -> 2
//
// An edge says that one op reads an output of another, from any output to any input unless it says
// which.
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

enum class NodeFit : std::uint8_t {
  fits,
  other_op,
  failing,  // the op is right, but a condition fails
  denied,
  taken,  // in another match
};

// The functions say whether a node fits an op, and whether nodes, by op, fit as a whole.
struct PatternQuery {
  const Graph& graph;
  const PatternGraph& pattern;  // without faults
  std::function<NodeFit(std::uint32_t op, NodeId node)> fit;
  std::function<bool(std::span<const NodeId> nodes)> whole_fits;
};

// Where the search came to an end, at the most nodes that fit together.
struct PatternMiss {
  enum class Kind : std::uint8_t {
    no_neighbor,   // `node`, at one end of edge `edge`, has no node of the right op at the other
    no_edge,       // edge `edge` is missing between `node`, which should read it, and `other`
    failing,       // a condition of op `op` fails on `node`
    taken,         // `node` is in another match
    denied,        // `node` is denied
    other_edge,    // `node` reads `other`, which is no edge of the pattern
    read_outside,  // `other` reads `value`, an inner value of `node`; kNone: the graph's output
    whole,         // `nodes`, by op, do not fit as a whole
    too_long,      // the search was ended
    refused,       // set by callers: `node`, of a match, is refused for another reason
  };
  Kind kind = Kind::no_neighbor;
  std::uint32_t op = 0;
  std::uint32_t edge = 0;
  NodeId node = kNone<NodeId>;
  NodeId other = kNone<NodeId>;
  ValueId value = kNone<ValueId>;
  std::vector<NodeId> nodes = {};
  std::uint32_t placed = 0;  // ops that had a node
};

class PatternSearch {
 public:
  // The most candidates that are looked at around one anchor, except that the first complete set of
  // nodes is always checked.
  static constexpr std::uint64_t kMostSteps = 4096;

  // Searches from nodes of op `anchor_op`. The query must outlive this.
  PatternSearch(const PatternQuery& query, std::uint32_t anchor_op);

  // True when there is a match with this anchor; the first one, in the order of edges, operands and
  // readers, is then in nodes(), else the reason is in miss().
  bool run(NodeId anchor);

  std::span<const NodeId> nodes() const { return nodes_; }  // by op
  const PatternMiss& miss() const { return miss_; }
  std::uint64_t steps() const { return steps_; }  // of all runs: candidates and operands

 private:
  struct Step {
    std::uint32_t op;
    std::uint32_t edge;  // that leads to an op placed before
    bool is_forward;     // from that op to this one
  };
  bool place(std::size_t depth);
  bool place_readers(std::size_t depth);
  bool place_makers(std::size_t depth);
  bool try_node(std::size_t depth, NodeId node);
  bool is_complete();
  bool edges_are_listed();
  bool values_stay_inside();
  bool can_be_inner(ValueId value);
  bool has_edge(std::uint32_t edge) const;
  bool is_listed(std::uint32_t from, std::uint32_t to, const Operand& operand) const;
  std::uint32_t op_of(NodeId node) const;  // op_count when it has none
  bool is_over();
  void note(PatternMiss miss);

  const PatternQuery& query_;
  std::uint32_t anchor_op_;
  std::vector<Step> plan_;
  std::vector<NodeId> nodes_;
  PatternMiss miss_;
  int miss_rank_ = -1;
  std::uint32_t placed_ = 0;
  bool has_right_op_ = false;  // a candidate of the step at hand is of the right op
  std::uint64_t steps_ = 0, last_step_ = 0;
};

}  // namespace cleave
