// Lays a drawing out with Graphviz's program `dot`, for machines without the library.
#pragma once

#include <string>

#include "formats/report/drawings/dot.h"

namespace cleave {

// How `dot` ended. The drawing is in `svg` when it exited with 0.
struct DotRun {
  int status = 0;  // exit status; kNoDot: there is no such program on the path
  int signal = 0;  // the signal that ended it; 0: none
  std::string svg;
  std::string said;  // on its standard error
};
inline constexpr int kNoDot = 127;

// Runs `dot` on the drawing, with at most this much processor time (SIGXCPU ends it), until it ends.
// It ends when this process does. Above 300 edges, or if asked for, edges are straight lines, as in
// layout_svg().
DotRun run_dot(const std::string& dot, EdgeShape shape, double seconds);

}  // namespace cleave
