// Files for other programs that show models: an attachment for Netron, and graphs for Google's Model
// Explorer.
#pragma once

#include <string>
#include <vector>

#include "formats/report/words/report.h"

namespace cleave {

// An attachment for Netron: open the model there, then this file. For a node, the side panel then shows its
// partition and the reason. For a value: the cost of crossing. JSON with signature `netron:attachment`. Netron finds nodes and values by name: it does not find
// those without a name or with a repeated one. Linear.
std::string netron_attachment(const Report& report);

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
