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

// The nodes that `to` is computed by, from `from`: those that it depends on, without what `from` needs. Of
// an empty `to`: the nodes that depend on `from`. In model order. Linear.
std::vector<NodeId> nodes_between(const Graph& graph, std::span<const ValueId> from,
                                  std::span<const ValueId> to);

// A partition with one part, which has these nodes, in model order.
Partition make_piece(const Graph& graph, std::span<const NodeId> nodes, std::string name);

// The inputs and outputs of the only part of `piece`; nodes in no part and the graph's output read
// its outputs. Outputs are in the order in which they are made; the rest is as in
// find_boundaries(). Linear in the part's edges, plus clearing tables of 4 bytes a value.
Boundaries find_piece_boundary(const Graph& graph, const Partition& piece);

}  // namespace cleave
