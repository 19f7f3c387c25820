// The steps of a split, each timed on one graph.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace cleave::bench {

enum class StepKind {
  input,   // reading bytes, parsing
  pass,    // of core: the targets are theirs
  output,  // making files
};

struct Step {
  std::string name;
  StepKind kind;
  double seconds;  // the median
};

struct Measured {
  std::size_t nodes = 0, parts = 0;
  std::size_t file_bytes = 0;
  std::vector<Step> steps;
  // While and after the model is read, in addition to what was there before; the file is mapped, so
  // its pages count too.
  double peak_bytes_a_node = 0, graph_bytes_a_node = 0;
  // The maximum over reading and all passes.
  double peak_split_bytes_a_node = 0;

  double seconds(std::string_view step) const;
  double seconds_of_passes() const;
};

struct MeasureOptions {
  int repeats = 1;      // of each step
  bool outputs = true;  // time the making of files, too: drawings take longer than all else
};

// Reads the graph at `path` and splits it by the support list `list_text`. Throws
// std::runtime_error when a step refuses.
Measured measure_steps(const std::string& path, std::string_view list_text,
                       const MeasureOptions& options);

}  // namespace cleave::bench
