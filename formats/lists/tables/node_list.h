// Node lists: some nodes of a model, by name.
//
//   ["conv1", "relu"]      JSON, also for names with line breaks
//   conv1                  text: one name per line; empty lines are skipped
#pragma once

#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "formats/base/text/diagnostic.h"

namespace cleave {

// The nodes of the list in the file ("-": standard input), in model order, each once. Constants may
// be listed, without effect. Refuses names that the graph does not have (naming the first ten) and
// a list without nodes.
Loaded<std::vector<NodeId>> read_node_list(const std::string& path, const Graph& graph);

}  // namespace cleave
