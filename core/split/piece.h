// Piece: some nodes of a graph, to be cut out as a model of their own. All other nodes are in no
// part.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "core/split/boundary.h"
#include "core/split/partition.h"

namespace cleave {

// A path that leaves a set of nodes and comes back: `over` is outside the set and depends on
// `from`; `to` depends on `over`.
struct Detour {
  NodeId from, over, to;
};

// The first such path of the nodes, which are in model order; nullopt: the set is convex. Linear in
// the nodes from the first to the last and their operands.
std::optional<Detour> find_detour(const Graph& graph, std::span<const NodeId> nodes);

// The tensors that a piece is asked for by: its first inputs, and its outputs, each in order.
struct PieceEnds {
  std::vector<ValueId> from, to;
};

// The nodes that `to` is computed by, from `from`: those that it depends on, without what `from`
// needs. In model order. Linear.
std::vector<NodeId> nodes_between(const Graph& graph, std::span<const ValueId> from,
                                  std::span<const ValueId> to);

// The graph's outputs that nodes compute from one of `from`, each once, in the graph's order. Linear.
std::vector<ValueId> outputs_after(const Graph& graph, std::span<const ValueId> from);

// A partition with one part, which has these nodes, in model order.
Partition make_piece(const Graph& graph, std::span<const NodeId> nodes, std::string name);

// The inputs and outputs of the only part of `piece`; nodes in no part and the graph's output read
// its outputs. Outputs are in the order in which they are made; the rest is as in
// find_boundaries(). With `ends`, the nodes between them: inputs are `from`, then what else the nodes
// read, which the graph is given, in its order; outputs are `to`. Linear in the part's edges, plus
// clearing tables of 4 bytes a value.
Boundaries find_piece_boundary(const Graph& graph, const Partition& piece,
                               const PieceEnds* ends = nullptr);

}  // namespace cleave
