// Items of a native graph file for a model that was not read from one: made from the graph.
// Attributes that rules cannot ask about, and bodies, are left out.
#pragma once

#include <string>

#include "core/graph/graph.h"
#include "formats/models/bind/loaded_model.h"

namespace cleave {

// `{"name": "y", "type": "tensor", "dtype": "float32", "shape": [1, "N", null]}`; a parameter also
// has `location`, `offset`, `bytes` if its raw data is in a file.
std::string make_value_json(const LoadedModel& model, ValueId id);

// `[1, "N", null]`; only for a tensor of known rank.
std::string make_shape_json(const Graph& graph, ValueId id);

// The node; captures of its bodies follow its other inputs.
std::string make_node_json(const LoadedModel& model, NodeId id);

}  // namespace cleave
