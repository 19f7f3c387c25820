// Lays drawings out with Graphviz in separate processes, within limits: Graphviz crashes on some
// graphs and takes minutes for others.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/base/progress.h"
#include "core/base/result.h"
#include "formats/base/text/diagnostic.h"

namespace cleave {

struct LayoutLimits {
  static constexpr double kSeconds = 20;

  double seconds = kSeconds;                     // of processor time, for all drawings
  double spent = 0;                              // of these seconds, by earlier calls
  std::uint64_t bytes = std::uint64_t{2} << 30;  // of memory, for each process
};

// An SVG in which no edge crosses a node; "" for a drawing that was skipped or given up. Or why there is
// none: "Graphviz took longer than 5 s".
using LaidOut = Result<std::string>;

struct LayoutJob {
  std::size_t count;
  std::function<std::string(std::size_t)> make;  // the i-th drawing, or "" to skip it; in order
  bool needs_first = false;                      // if drawing 0 fails, the others are given up
};

struct LaidOutAll {
  std::vector<LaidOut> drawings;
  double spent;  // seconds of processor time, with those of earlier calls
};

// The drawing as an SVG document. 2,000 nodes take some 2 seconds, if edges span at most
// DotGraph::kMostRanksSpanned ranks.
LaidOut lay_out(const std::string& dot, const LayoutLimits& limits, const Progress& progress = {});

// The same for several drawings, some at a time. Edges are Graphviz's curves in a drawing of few edges. One
// alone may use half of the time with them, one of several a quarter; if that takes too long, and where edges
// are many, they are routed by cleave, in all the time left or, with several drawings, a quarter. The result does not depend on how many are laid out at a time, unless time runs out. A
// process that takes ten times as long by the clock is ended, too.
LaidOutAll lay_out_all(const LayoutJob& job, const LayoutLimits& limits,
                       const Progress& progress = {});

// ---- in a process of its own ----

// Who leads edges round nodes: Graphviz, or with_edges_round_nodes().
enum class EdgeShape : std::uint8_t { curved, routed };

// Lays the drawing out as SVG with Graphviz's `dot` engine, in this process. Graphviz may crash the
// process or take minutes; see layout.h. An error when the layout library is missing. Memory that
// Graphviz takes is not freed. Throws std::bad_alloc when there is less memory than it may take.
// With routed edges, nodes are placed in a bounded number of steps: for some graphs of 400 edges placement
// takes minutes without a bound.
Loaded<std::string> layout_svg(const std::string& dot, EdgeShape shape = EdgeShape::curved);

}  // namespace cleave
