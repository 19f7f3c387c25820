// Graphs as text, for tests of readers: all that a graph contains except positions in the source.
//
//   input x: float32[2, N]
//   parameter w: int4[]
//   node a = conv(0:x 2:[n] k=w ) !w
//     stride integers 2 2
//     -> a: tuple (no tensor)
//   output a
#pragma once

#include <string>

#include "core/graph/graph.h"

namespace cleave {

std::string described(const Graph& graph);

}  // namespace cleave
