// Node lists: some nodes of a model, by name.
//
//   ["conv1", "relu"]      JSON, also for names that hold line breaks
//   conv1                  text: a name a line; empty lines are passed over
#pragma once

#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "formats/text/diagnostic.h"

namespace cleave {

// The nodes of the list in the file ("-": standard input), in model order, each once. Constants may
// be in it, which changes nothing. Refuses names that the graph does not have, the first ten of them
// named, and a list without nodes.
Loaded<std::vector<NodeId>> read_node_list(const std::string& path, const Graph& graph);

}  // namespace cleave
