// Values of an ONNX model that are equal whatever its inputs: ONNX Runtime makes one of them before it gives
// nodes to providers. Removed nodes (Identity) give what they read; equal nodes with equal inputs give the same.
#pragma once

#include <vector>

#include "formats/models/bind/loaded_model.h"

namespace cleave {

// By value: the first one that is equal to it, often itself. Nodes that draw at random, or that have bodies, are equal to
// none. Of weights those of few elements are compared, as ONNX Runtime shares these. Linear in the model's nodes and
// their attributes. The model must be ONNX.
std::vector<ValueId> equal_values(const LoadedModel& model);

}  // namespace cleave
