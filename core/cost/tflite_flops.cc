// Sources of the layouts: the kernels' documentation in TensorFlow Lite's schema and its operators'
// definitions (tfl_ops.td).
#include "core/cost/op_flops.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <unordered_map>

namespace cleave {
namespace {

// The product of the dims of a value from `first` up to the one `behind` places before the end.
Count dims_between(const NodeView& node, std::optional<ValueId> value, std::size_t first,
                   std::size_t behind) {
  const std::size_t rank = node.rank(value);
  if (rank < first + behind) return std::nullopt;
  Count product = 1.0;
  for (std::size_t back = behind + 1; back <= rank - first; ++back) {
    product = product * node.dim_from_end(value, back);
  }
  return product;
}

Count activation(const NodeView& node) {
  const std::string_view name = node.text({"fused_activation_function"});
  return name.empty() || name == "NONE" ? Count(0.0) : node.elements(node.output());
}

// Weight [out channels, kernel..., in channels / groups].
Count flops_of_conv(const NodeView& node, double) {
  return Count(2.0) * node.elements(node.output()) * dims_between(node, node.input(1), 1, 0) +
         activation(node);
}

// Weight [depth, height, width, in channels, out channels].
Count flops_of_conv3d(const NodeView& node, double) {
  return Count(2.0) * node.elements(node.output()) * dims_between(node, node.input(1), 0, 1) +
         activation(node);
}

// Weight [1, height, width, out channels].
Count flops_of_depthwise(const NodeView& node, double) {
  return Count(2.0) * node.elements(node.output()) * dims_between(node, node.input(1), 1, 1) +
         activation(node);
}

// Inputs: shape, weight [out channels, kernel..., in channels], tensor. The last dim of the weight is the
// tensor's channels.
Count flops_of_transposed(const NodeView& node, double) {
  const auto weight = node.input(1);
  return Count(2.0) * node.elements(node.input(2)) *
             (node.elements(weight) / node.dim_from_end(weight, 1)) +
         activation(node);
}

// Weight [outputs, inputs].
Count flops_of_dense(const NodeView& node, double) {
  return Count(2.0) * node.elements(node.output()) * node.dim_from_end(node.input(1), 1) +
         activation(node);
}

Count flops_of_batch_matmul(const NodeView& node, double) {
  const std::size_t summed = node.is_set({"adj_x"}) ? 2 : 1;
  return Count(2.0) * node.elements(node.output()) * node.dim_from_end(node.input(0), summed);
}

Count elements_of(const NodeView& node, std::initializer_list<std::uint32_t> positions) {
  Count sum = 0.0;
  for (const std::uint32_t position : positions) {
    if (const auto value = node.input(position)) sum = sum + node.elements(value);
  }
  return sum;
}

// Each weight is used once in each step of each sample, and so is each bias; `number` is the work
// of the gates of each hidden unit: five activations, f * c + i * g, and the product with o.
Count flops_of_lstm(const NodeView& node, double number) {
  const Count steps = dims_between(node, node.input(0), 0, 1);
  const Count weights = elements_of(node, {1, 2, 3, 4, 5, 6, 7, 8, 16});
  const Count biases = elements_of(node, {12, 13, 14, 15, 17});
  return steps * (Count(2.0) * weights + biases) +
         Count(number) * steps * node.dim_from_end(node.input(2), 2);
}

Count flops_of_two_lstms(const NodeView& node, double number) {
  const Count steps = dims_between(node, node.input(0), 0, 1);
  const Count weights =
      elements_of(node, {1, 2, 3, 4, 5, 6, 7, 8, 16, 18, 19, 20, 21, 22, 23, 24, 25, 33});
  const Count biases = elements_of(node, {12, 13, 14, 15, 17, 29, 30, 31, 32, 34});
  return steps * (Count(2.0) * weights + biases) +
         Count(2.0 * number) * steps * node.dim_from_end(node.input(2), 2);
}

Count flops_of_rnn(const NodeView& node, double) {
  const Count steps = dims_between(node, node.input(0), 0, 1);
  return steps * (Count(2.0) * elements_of(node, {1, 2}) + Count(2.0) * elements_of(node, {3}));
}

Count flops_of_two_rnns(const NodeView& node, double) {
  const Count steps = dims_between(node, node.input(0), 0, 1);
  return steps *
         (Count(2.0) * elements_of(node, {1, 2, 5, 6}) + Count(2.0) * elements_of(node, {3, 7}));
}

Count flops_of_svdf(const NodeView& node, double) {
  const Count batch = dims_between(node, node.input(0), 0, 1);
  return Count(2.0) * batch * elements_of(node, {1, 2}) + activation(node);
}

Count flops_of_pool(const NodeView& node, double) {
  const auto height = node.integers({"filter_height"});
  const auto width = node.integers({"filter_width"});
  if (height.empty() || width.empty()) return std::nullopt;
  return node.elements(node.output()) * Count(static_cast<double>(height.front() * width.front())) +
         activation(node);
}

Count flops_with_activation(const NodeView& node, double number) {
  return Count(number) * node.elements(node.output()) + activation(node);
}

Count flops_of_sum(const NodeView& node, double) {
  return Count(static_cast<double>(node.operands().size()) - 1) * node.elements(node.output());
}

// What its body computes. The body's own nodes are looked up one by one.
Count flops_of_composite(const NodeView& node, double) {
  Count sum = 0.0;
  for (const NodeId inner : node.graph().body_nodes(node.id())) {
    sum = sum + op_flops(node.graph(), inner);
  }
  return sum;
}

constexpr std::array kTable = {
    FlopsRow{"CONV_2D", {flops_of_conv}},
    FlopsRow{"CONV_3D", {flops_of_conv3d}},
    FlopsRow{"DEPTHWISE_CONV_2D", {flops_of_depthwise}},
    FlopsRow{"TRANSPOSE_CONV CONV_3D_TRANSPOSE", {flops_of_transposed}},
    FlopsRow{"FULLY_CONNECTED", {flops_of_dense}},
    FlopsRow{"BATCH_MATMUL", {flops_of_batch_matmul}},
    FlopsRow{"UNIDIRECTIONAL_SEQUENCE_LSTM LSTM", {flops_of_lstm, 9}},
    FlopsRow{"BIDIRECTIONAL_SEQUENCE_LSTM", {flops_of_two_lstms, 9}},
    FlopsRow{"RNN UNIDIRECTIONAL_SEQUENCE_RNN", {flops_of_rnn}},
    FlopsRow{"BIDIRECTIONAL_SEQUENCE_RNN", {flops_of_two_rnns}},
    FlopsRow{"SVDF", {flops_of_svdf}},
    FlopsRow{"MAX_POOL_2D AVERAGE_POOL_2D L2_POOL_2D", {flops_of_pool}},
    FlopsRow{
        "MEAN SUM REDUCE_MAX REDUCE_MIN REDUCE_PROD REDUCE_ANY REDUCE_ALL ARG_MAX ARG_MIN CUMSUM "
        "TOPK_V2 SEGMENT_SUM UNSORTED_SEGMENT_SUM UNSORTED_SEGMENT_PROD UNSORTED_SEGMENT_MAX "
        "UNSORTED_SEGMENT_MIN WHERE UNIQUE",
        {flops_per_input, 1}},
    FlopsRow{
        "ADD SUB MUL DIV POW MAXIMUM MINIMUM FLOOR_DIV FLOOR_MOD EQUAL NOT_EQUAL LESS LESS_EQUAL "
        "GREATER GREATER_EQUAL LOGICAL_AND LOGICAL_OR LOGICAL_NOT SELECT SELECT_V2 NEG ABS SIGN "
        "EXP "
        "LOG SQRT RSQRT SQUARE SIN COS TANH LOGISTIC RELU RELU6 RELU_N1_TO_1 RELU_0_TO_1 ELU "
        "LEAKY_RELU PRELU HARD_SWISH GELU ROUND CEIL FLOOR ATAN2 BITWISE_XOR RIGHT_SHIFT",
        {flops_with_activation, 1}},
    FlopsRow{"SQUARED_DIFFERENCE", {flops_with_activation, 2}},
    FlopsRow{"ADD_N", {flops_of_sum}},
    FlopsRow{"SOFTMAX LOG_SOFTMAX LOCAL_RESPONSE_NORMALIZATION", {flops_per_output, 5}},
    FlopsRow{"L2_NORMALIZATION", {flops_with_activation, 4}},
    FlopsRow{"QUANTIZE DEQUANTIZE FAKE_QUANT", {flops_per_output, 2}},
    FlopsRow{"RESIZE_BILINEAR", {flops_per_output, 4}},
    FlopsRow{"STABLEHLO_COMPOSITE", {flops_of_composite}},
    FlopsRow{
        "RESHAPE TRANSPOSE PAD PADV2 MIRROR_PAD SPLIT SPLIT_V SLICE STRIDED_SLICE GATHER "
        "GATHER_ND PACK UNPACK EXPAND_DIMS SQUEEZE TILE BROADCAST_TO BROADCAST_ARGS "
        "DEPTH_TO_SPACE SPACE_TO_DEPTH BATCH_TO_SPACE_ND SPACE_TO_BATCH_ND REVERSE_V2 "
        "REVERSE_SEQUENCE FILL ZEROS_LIKE SHAPE RANK RANGE ONE_HOT CAST SCATTER_ND "
        "SPARSE_TO_DENSE DYNAMIC_UPDATE_SLICE RESIZE_NEAREST_NEIGHBOR EMBEDDING_LOOKUP DENSIFY "
        "BITCAST MATRIX_DIAG MATRIX_SET_DIAG DILATE VAR_HANDLE READ_VARIABLE ASSIGN_VARIABLE "
        "CALL_ONCE",
        {no_flops}},
    FlopsRow{"CONCATENATION", {flops_with_activation, 0}},
};

}  // namespace

const Formula* tflite_flops(std::string_view op) {
  static const std::unordered_map<std::string_view, Formula> kIndex = formulas_by_op(kTable);
  const auto row = kIndex.find(op);
  return row == kIndex.end() ? nullptr : &row->second;
}

}  // namespace cleave
