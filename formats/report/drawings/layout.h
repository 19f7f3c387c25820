// Lays drawings out with Graphviz in separate processes, within limits: Graphviz crashes on some
// graphs and takes minutes for others. A process uses the library, or the program `dot` on machines
// without it.
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

struct Drawing {
  std::string svg;        // "" for one that was skipped or given up; no edge crosses a node
  bool has_boxes = true;  // false: with boxes around nodes Graphviz could not place them
};
using LaidOut = Result<Drawing>;  // or why there is no SVG: "Graphviz took longer than 5 s"

struct LayoutJob {
  std::size_t count;
  std::function<std::string(std::size_t)> make;  // the i-th drawing, or "" to skip it; in order
  bool needs_first = false;                      // if drawing 0 fails, the others are given up
};

struct LaidOutAll {
  std::vector<LaidOut> drawings;
  double spent;  // seconds of processor time, with those of earlier calls
};

// The drawing as an SVG document. Takes seconds for 2,000 nodes.
LaidOut lay_out(const std::string& dot, const LayoutLimits& limits);

// The same for several drawings, some at a time. One alone may use half of the time with Graphviz's curves,
// one of several a quarter; if that takes too long its edges are routed by cleave, in all the time left or,
// with several drawings, a quarter. The result does not depend on how many are laid out at a time, unless time runs out. A
// process that takes ten times as long by the clock is ended, too.
LaidOutAll lay_out_all(const LayoutJob& job, const LayoutLimits& limits,
                       const Progress& progress = {});

// ---- in a process of its own ----

// Who leads edges round nodes: Graphviz, or with_edges_round_nodes().
enum class EdgeShape : std::uint8_t { curved, routed };

// Lays the drawing out as SVG with Graphviz's `dot` engine, in this process. Graphviz may crash the
// process or take minutes; see layout.h. An error when the layout library is missing. Memory that
// Graphviz takes is not freed. Throws std::bad_alloc when there is less memory than it may take.
// Above 300 edges, and with routed ones, nodes are placed in a bounded number of steps: for some
// graphs of 400 edges placement takes minutes without a bound.
Loaded<std::string> layout_svg(const std::string& dot, EdgeShape shape = EdgeShape::curved);

// Whether Graphviz's library is on this machine. The first call loads it.
bool has_layout_library();

// How `dot` ended. The drawing is in `svg` when it exited with 0.
struct DotRun {
  int status = 0;  // exit status; kNoDot: there is no such program on the path
  int signal = 0;  // the signal that ended it; 0: none
  std::string svg;
  std::string said;  // on its standard error
};
inline constexpr int kNoDot = 127;

// Runs `dot` on the drawing, with at most this much processor time (SIGXCPU ends it), until it ends.
// It ends when this process does. Nodes are placed as in layout_svg().
DotRun run_dot(const std::string& dot, EdgeShape shape, double seconds);

}  // namespace cleave
