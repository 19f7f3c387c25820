// Node case: everything about a node that a backend's verdict on it may depend on, as text. Nodes
// with the same case need one test, whichever model they are in.
//
//   MaxPool@17(0:float32[1,64,111,111]) {kernel_shape=[3,3] strides=[2,2]} -> 1
//   Reshape@17(0:float32[1,n], 1:const int64[2]) {} -> 1
#pragma once

#include <string>

#include "core/graph/graph.h"

namespace cleave {

// Lists op, domain, opset, dtypes and shapes of inputs, which of them are constant, attributes, and
// the number of outputs. A node with bodies, or with attributes other than numbers and strings, is
// a case of its own: its name is part of the text. Linear in the node's operands and attributes.
std::string node_case(const Graph& graph, NodeId node);

}  // namespace cleave
