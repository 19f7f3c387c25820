// How runtimes rename nodes and op types.
//
// A runtime that optimises a model runs its own kernels. Some have the name of a node or of its
// output, with an addition; some have the names of all nodes that were fused into them.
#pragma once

#include <string_view>
#include <vector>

namespace cleave {

// The name without the additions of runtimes (`_nchwc`, `_token_3`, `/WithoutBiases`, `fused `,
// ...).
std::string_view without_additions(std::string_view name);

// The names in a fused kernel's name, joined by " + " or ",", also inside TensorRT's `PWN(...)` and
// `{ForeignNode[...]}`. A single entry: the name is not joined.
std::vector<std::string_view> joined_names(std::string_view name);

// The two names of a TensorRT kernel that covers all nodes from one to another,
// `{ForeignNode[first...last]}`; empty for any other name.
std::vector<std::string_view> range_of_nodes(std::string_view name);

// True when a kernel with that op may do the work of a node with the other op: the same operator, a
// fused or quantised form (FusedConv, QLinearConv, MatMulInteger), or another runtime's name for
// it.
bool op_fits(std::string_view kernel_op, std::string_view node_op);

// True when runtimes often do the work of such an op inside the kernel before it: elementwise
// functions, normalisation, views.
bool is_often_fused(std::string_view node_op);

}  // namespace cleave
