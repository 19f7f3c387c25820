// Node case: everything of a node that a backend's verdict on it may depend on, as text. Nodes of
// the same case are one case to test, in whichever model they are.
//
//   MaxPool@17(0:float32[1,64,111,111]) {kernel_shape=[3,3] strides=[2,2]} -> 1
//   Reshape@17(0:float32[1,n], 1:const int64[2]) {} -> 1
#pragma once

#include <string>

#include "core/graph/graph.h"

namespace cleave {

// Op, domain, opset, dtypes and shapes of inputs, which of them are constant, attributes, number of
// outputs. A node with bodies or with attributes beyond numbers and strings is a case of its own:
// its name is part of the text. Linear in the node's operands and attributes.
std::string node_case(const Graph& graph, NodeId node);

}  // namespace cleave
