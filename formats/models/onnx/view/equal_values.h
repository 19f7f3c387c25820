// Values of an ONNX model that are equal whatever its inputs: ONNX Runtime makes one of them before it gives
// nodes to providers. Removed nodes (Identity) give what they read; equal nodes with equal inputs give the same.
#pragma once

#include <vector>

#include "core/base/ids.h"
#include "core/graph/graph.h"
#include "formats/models/onnx/index/model.h"

namespace cleave {

// By value: the first one that is equal to it, often itself. Nodes that draw at random, or that have bodies, are equal to
// none. An attribute that states its default is as one that is not stated. Of weights those of few elements are
// compared, as ONNX Runtime shares these. Linear in the model's nodes and their attributes.
std::vector<ValueId> equal_values(const Graph& graph, const OnnxModel& model);

// By node of the main graph: the one that ONNX Runtime keeps for all that are equal to it, often itself. A node that makes
// an output of the model stays, and stands for no other. `equal` is of equal_values(). Linear.
PerNode<NodeId> kept_nodes(const Graph& graph, const std::vector<ValueId>& equal);

}  // namespace cleave
