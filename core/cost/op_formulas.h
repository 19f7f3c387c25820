// Formulas for the floating-point operations of a node, from its op type and shapes. The table in
// op_flops.cc assigns a formula to each operator.
//
// Sources: the counters of fvcore (fvcore/nn/jit_handles.py) and of torch
// (torch.utils.flop_counter), which count a multiply-add once, here as 2; for operators that
// neither counts, their definition in the ONNX specification or in ONNX Runtime's
// ContribOperators.md.
#pragma once

#include "core/cost/node_view.h"

namespace cleave {

// `number` is the second number of the op's row in the table. nullopt when a size is unknown.
using FlopsFormula = Count (*)(const NodeView& node, double number);

// What the table has for an operator.
struct Formula {
  FlopsFormula flops;
  double number = 0;
};

// `number` for each output element, or each element of the first input.
Count flops_per_output(const NodeView& node, double number);
Count flops_per_input(const NodeView& node, double number);
// The larger of input and output, for each tensor but the first: torch.max of one tensor reduces
// it, of two is elementwise, as is ONNX's Max of many.
Count flops_of_variadic(const NodeView& node, double number);

// `number`: position of the weight [out channels, in channels / groups, kernel...].
Count flops_of_convolution(const NodeView& node, double number);
// The weight is [in channels, out channels / groups, kernel...]; each input element is multiplied
// by it.
Count flops_of_transposed_convolution(const NodeView& node, double number);
// `number`: position of the left factor, whose last dim is summed over; with transA the one before.
Count flops_of_product(const NodeView& node, double number);
// One product for each combination of all indices of the equation, and one sum; each further factor
// adds one product.
Count flops_of_einsum(const NodeView& node, double number);

// Two products and a softmax, without projections. Query, key and value are inputs 0, 1 and 2, each
// [B, heads, S, E], or [B, S, heads x E] with the number of heads in an attribute. `number` is the
// position of the key's past, [B, heads, P, E], which is put before the key; 0: there is none.
Count flops_of_attention(const NodeView& node, double number);
// torch.nn.MultiheadAttention: input and output projections of E x E around the attention.
Count flops_of_multihead_attention(const NodeView& node, double number);
// com.microsoft Attention, QAttention: input [B, S, I], weights [I, 3 x hidden]; `number`: position
// of the past, [2, B, heads, P, E].
Count flops_of_packed_attention(const NodeView& node, double number);
// Each weight of all gates and directions is used once in each step of each sample, and so is each
// bias; the gates of each hidden unit are activated and combined. `number` is the number of gates:
// 1 for an RNN, 3 for a GRU, 4 for an LSTM.
Count flops_of_recurrence(const NodeView& node, double number);

// One for each element under the kernel.
Count flops_of_pooling(const NodeView& node, double number);
// For linear modes 2 per side of the window, for cubic ones 4; nearest only moves data. `number`
// not 0: linear is the default mode.
Count flops_of_resize(const NodeView& node, double number);
// A sum of rows of the table: one addition for each element of each row.
Count flops_of_embedding_bag(const NodeView& node, double number);
// Each selected box is compared with every box. The number of selected boxes depends on the data:
// unknown unless a run showed the shape of the output.
Count flops_of_suppression(const NodeView& node, double number);
// Ops that only move data: 0.
Count no_flops(const NodeView& node, double number);

}  // namespace cleave
