// Lays drawings out with Graphviz in separate processes, within limits: Graphviz crashes on some
// graphs and takes minutes for others.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/base/progress.h"
#include "core/base/result.h"

namespace cleave {

struct LayoutLimits {
  static constexpr double kSeconds = 20;

  double seconds = kSeconds;                     // of processor time, for all drawings
  double spent = 0;                              // of these seconds, by earlier calls
  std::uint64_t bytes = std::uint64_t{2} << 30;  // of memory, for each process
};

// Why there is no SVG: "Graphviz took longer than 5 s".
struct LayoutFault {
  std::string why;
};
using LaidOut = Result<std::string, LayoutFault>;

struct LayoutJob {
  std::size_t count;
  std::function<std::string(std::size_t)> make;  // the i-th drawing, or "" to skip it; in order
  bool needs_first = false;                      // if drawing 0 fails, the others are given up
};

struct LaidOutAll {
  std::vector<LaidOut> drawings;  // "" for those that were skipped or given up
  double spent;                   // seconds of processor time, with those of earlier calls
};

// The drawing as an SVG document. Takes seconds for 500 nodes.
LaidOut lay_out(const std::string& dot, const LayoutLimits& limits);

// The same for several drawings, some at a time. Each may use a tenth of the time with curved edges;
// if that fails it is drawn with straight ones, in all the time left or, with several drawings, a
// quarter. The result does not depend on how many are laid out at a time, unless time runs out. A
// process that takes ten times as long by the clock is ended, too.
LaidOutAll lay_out_all(const LayoutJob& job, const LayoutLimits& limits,
                       const Progress& progress = {});

}  // namespace cleave
