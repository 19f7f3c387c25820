// Files for Google's Model Explorer: the model with each partition as a layer, and data to colour
// its nodes by.
#pragma once

#include <string>
#include <vector>

#include "formats/report/words/report.h"

namespace cleave {

struct NamedText {
  std::string name;  // of the file
  std::string text;
};

// `graph.json`, to be opened first: partitions are layers, CPU nodes have their reason, and values
// that cross a border have their bytes as an edge overlay. Then node data, one file per measure:
// `partition.json`, `reason.json`, `flops.json`. Nodes are identified by their output tensors, so
// that the data also fits the model as Model Explorer reads it itself. Linear.
std::vector<NamedText> model_explorer_files(const Report& report);
// Their names, in this order.
std::vector<std::string> model_explorer_file_names();

}  // namespace cleave
