// What descends from nodes of a kind: values that are drawn at random, which no two runs agree on, and
// values whose shape depends on data, which are no fixed shape of the model.
#pragma once

#include <vector>

#include "core/graph/graph.h"

namespace cleave {

// By value: it is made by an operator of ONNX that draws at random, or by what reads such a value.
// Linear in the edges.
std::vector<bool> random_values(const Graph& graph);

// By value: its shape depends on data, or may. It descends from NonZero, NonMaxSuppression, Unique,
// Compress, a Loop, a Scan or an If. Linear in the edges.
std::vector<bool> values_shaped_by_data(const Graph& graph);

}  // namespace cleave
