// Drawing stages: columns from left to right in the order of the pipeline, each as tall as it is
// busy, and what flows between them.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace cleave {

struct StageColumn {
  std::string name;
  std::vector<std::string> lines;  // below the name
  double share = 0;                // of the slowest stage's load, 0 to 1
};

// What goes from one stage to another, all of it.
struct StageFlow {
  std::size_t from = 0;  // columns
  std::size_t to = 0;
  std::string label;
  bool is_parameters = false;  // that a stage holds and passes on, not what it makes
};

struct StagesDrawing {
  std::string title;
  std::vector<StageColumn> columns;
  std::vector<StageFlow> flows;
};

// The drawing as Graphviz text: one box a stage, the slowest amber with a thick border; flows to
// the next stage straight, those that skip stages curved and dashed; parameters in amber, with a
// diamond at the end.
// Linear.
std::string draw_stages(const StagesDrawing& stages);

}  // namespace cleave
