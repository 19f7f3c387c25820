// Descent: which values depend on a node of some kind. Values that depend on a random operator
// differ from run to run. Values whose shape depends on data have no fixed shape in the model.
#pragma once

#include <vector>

#include "core/graph/graph.h"

namespace cleave {

// By value: true when a node that makes it, or one that it depends on, is an operator of ONNX that
// draws at random. Linear in the edges.
std::vector<bool> random_values(const Graph& graph);

// By value: true when its shape may depend on data, since it depends on a node such as NonZero,
// NonMaxSuppression, Unique, Compress, Loop, Scan or If. Linear in the edges.
std::vector<bool> values_shaped_by_data(const Graph& graph);

}  // namespace cleave
