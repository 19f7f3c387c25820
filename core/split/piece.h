// Piece: some nodes of a graph, to be cut out as a model of their own; the rest is in no part.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "core/graph/graph.h"
#include "core/split/boundary.h"
#include "core/split/partition.h"

namespace cleave {

// A path that leaves a set of nodes and comes back: `over` is not in the set, reads what descends
// from `from`, and `to` reads what descends from it.
struct Gap {
  NodeId from, over, to;
};

// The first such path of the nodes, which are in model order; none: the set is convex. Linear in the
// nodes from the first to the last and their operands.
std::optional<Gap> find_gap(const Graph& graph, std::span<const NodeId> nodes);

// A partition of one part, which has these nodes, in model order.
Partition make_piece(const Graph& graph, std::span<const NodeId> nodes, std::string name);

// What the only part of `piece` takes in and gives to nodes that are in no part, or to the graph's
// output. Outputs are in the order in which they are made; the rest is as find_boundaries() has it.
// Linear in the part's edges, but for clearing tables of 4 bytes a value.
Boundaries find_piece_boundary(const Graph& graph, const Partition& piece);

}  // namespace cleave
