// Guesses scaled to measurements: where some nodes were measured and others not, a guess of the
// others is multiplied by the median of measured / guessed, so that both are of one unit.
#pragma once

#include <cstddef>

#include "core/graph/graph.h"

namespace cleave {

// Of so many measured nodes of one op their own median is taken, else that of all.
inline constexpr std::size_t kFewestOfAnOp = 5;

struct ScaledTimes {
  PerNode<double> times;   // measured, else the scaled guess; below 0 where neither is known
  std::size_t scaled = 0;  // nodes with a scaled guess
};

// `guesses` and `measured` are in any units of time, below 0 where not known. Where nothing was
// measured that has a guess above 0, guesses stay as they are, and `scaled` is 0. O(n log n).
ScaledTimes scale_guesses(const Graph& graph, const PerNode<double>& guesses,
                          const PerNode<double>& measured);

}  // namespace cleave
