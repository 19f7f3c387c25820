// Scales guesses to measurements: where some nodes were measured and others not, the others'
// guesses are multiplied by the median of measured / guessed, so that both are in one unit.
#pragma once

#include <cstddef>

#include "core/graph/graph.h"

namespace cleave {

// An op with this many measured nodes has a median of its own; other ops use the median of all
// nodes.
inline constexpr std::size_t kFewestOfAnOp = 5;

struct ScaledTimes {
  PerNode<double> times;   // measured, else the scaled guess; below 0 when neither is known
  std::size_t scaled = 0;  // nodes with a scaled guess
};

// `guesses` and `measured` are in any units of time, below 0 when unknown. A node that took no time
// was fused away and has no ratio. If no ratio is known, guesses stay as they are and `scaled` is 0.
// O(n log n).
ScaledTimes scale_guesses(const Graph& graph, const PerNode<double>& guesses,
                          const PerNode<double>& measured);

}  // namespace cleave
