// Draws stages: columns from left to right in the order of the pipeline, each as tall as its load,
// and the values that flow between them.
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

// All that flows from one stage to another.
struct StageFlow {
  std::size_t from = 0;  // columns
  std::size_t to = 0;
  std::string label;
  bool is_parameters = false;  // parameters that a stage holds and passes on
};

struct StagesDrawing {
  std::string title;
  std::vector<StageColumn> columns;
  std::vector<StageFlow> flows;
};

// The drawing as Graphviz text: one box per stage, the slowest in amber with a thick border. Flows
// to the next stage are straight, those that skip stages curved and dashed; parameters are amber,
// with a diamond at the end. Linear.
std::string draw_stages(const StagesDrawing& stages);

}  // namespace cleave
