// Grown piece: the smallest surroundings in which a backend takes a node that it refuses alone. QNN
// refuses Erf, and takes the five nodes of a GELU.
//
// 1. Grow: the nodes that make what the piece reads, those that read what it makes, or both, six
//    times, the smallest piece first, until one is taken. A piece is convex.
// 2. Leave out nodes at its border, the farthest from the node first, while the rest is connected,
//    convex, and taken. A node that was needed once is not asked about again.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "core/graph/graph.h"

namespace cleave {

// Whether the backend takes these nodes, in model order, as a model of their own.
using TakesPiece = std::function<bool(const std::vector<NodeId>&)>;

struct GrownPiece {
  std::vector<NodeId> nodes;  // in model order; empty: no piece was taken
  std::size_t asked = 0;
};

inline constexpr std::size_t kMostGrown = 40;  // nodes

// Asks at most `most_asked` times, never about one piece twice. `refused` is a node of the model, not of a
// body. Cost besides: linear in the nodes between the first and the last of each piece.
GrownPiece grow_piece(const Graph& graph, NodeId refused, std::size_t most_asked,
                      const TakesPiece& takes);

}  // namespace cleave
