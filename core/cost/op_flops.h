// Floating-point operations of one node, from its op type and shapes.
#pragma once

#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/graph/graph.h"

namespace cleave {

// A node as cost formulas see it: inputs by position or keyword, sizes that may be unknown.

// A number that may be unknown; what is computed from an unknown number is unknown too.
using Count = std::optional<double>;
inline Count operator*(Count a, Count b) { return a && b ? Count(*a * *b) : std::nullopt; }
inline Count operator+(Count a, Count b) { return a && b ? Count(*a + *b) : std::nullopt; }
// Division by 0 gives 0, since the numerator is empty then, too.
Count operator/(Count a, Count b);

class NodeView {
 public:
  NodeView(const Graph& graph, NodeId node) : graph_(graph), node_(node) {}

  const Graph& graph() const { return graph_; }
  NodeId id() const { return node_; }
  // The tensor at that position, or with that keyword.
  std::optional<ValueId> input(std::uint32_t position, std::string_view keyword = {}) const;
  std::optional<ValueId> output(std::size_t i = 0) const;
  // The weight: an operand, or the module's own parameter of at least `least_rank` dims.
  std::optional<ValueId> weight(std::uint32_t position, std::size_t least_rank) const;
  std::span<const Operand> operands() const { return graph_.operands(node_); }
  std::span<const ValueId> module_parameters() const { return graph_.module_parameters(node_); }

  Count elements(std::optional<ValueId> value) const;
  // A dim counted from the end: 1 is the last.
  Count dim_from_end(std::optional<ValueId> value, std::size_t back) const;
  // 0 when the rank is unknown.
  std::size_t rank(std::optional<ValueId> value) const;

  // The integers of the first attribute found under one of these names; empty when there is none.
  std::vector<std::int64_t> integers(std::initializer_list<std::string_view> names) const;
  bool is_set(std::initializer_list<std::string_view> names) const;
  std::string_view text(std::initializer_list<std::string_view> names) const;

 private:
  const Graph& graph_;
  NodeId node_;
};

// Formulas for the floating-point operations of a node, from its op type and shapes. The table in
// op_flops.cc assigns a formula to each operator.
//
// Sources: the counters of fvcore (fvcore/nn/jit_handles.py) and of torch
// (torch.utils.flop_counter), which count a multiply-add once, here as 2; for operators that
// neither counts, their definition in the ONNX specification or in ONNX Runtime's
// ContribOperators.md.

// `number` is the second number of the op's row in the table. nullopt when a size is unknown.
using FlopsFormula = Count (*)(const NodeView& node, double number);

// What the table has for an operator.
struct Formula {
  FlopsFormula flops;
  double number = 0;
};

// A row of a table of formulas.
struct FlopsRow {
  std::string_view ops;  // separated by one space
  Formula formula;
};

// The formula of each op of the table, whose text must outlive the result. Of an op that is named
// twice the first row counts.
std::unordered_map<std::string_view, Formula> formulas_by_op(std::span<const FlopsRow> table);

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

// A multiply-add counts as 2. nullopt when the op is not in the table of op_flops.cc, or when a
// shape that its formula needs is unknown.
std::optional<double> op_flops(const Graph& graph, NodeId node);

// The FLOPs of all nodes; looks up each op type once.
PerNode<std::optional<double>> op_flops(const Graph& graph);

// Floating-point operations of the operators of TensorFlow Lite, whose tensors are NHWC and whose
// weights are laid out otherwise than those of ONNX and torch.

// The row of the builtin operator, "CONV_2D"; null when it has none. Counted as in op_flops.cc; a
// fused activation adds 1 for each output element. Quantised operators count as those on floats.
const Formula* tflite_flops(std::string_view op);

}  // namespace cleave
