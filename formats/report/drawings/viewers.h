// Files for other programs that show models: an attachment for Netron, and node data for Google's
// Model Explorer.
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

// Node data: open the model in Model Explorer, then these files, one per measure: `partition.json`,
// `reason.json`, `flops.json`. Nodes are found by their output tensors, as Model Explorer's own readers
// of models call them. Linear.
std::vector<NamedText> model_explorer_files(const Report& report);
// Their names, in this order.
std::vector<std::string> model_explorer_file_names();

}  // namespace cleave
