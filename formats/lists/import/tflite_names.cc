#include "formats/lists/import/tflite_names.h"

#include <algorithm>
#include <array>

namespace cleave {
namespace {

// In alphabetical order. Left out are operators for which ONNX has no single operator that does the
// same.
constexpr auto kOps = std::to_array<TfliteOp>({
    {"ABS", "Abs"},
    {"ADD", "Add"},
    {"ADD_N", "Sum"},
    {"ARG_MAX", "ArgMax"},
    {"ARG_MIN", "ArgMin"},
    {"AVERAGE_POOL_2D", "AveragePool"},
    {"BATCH_MATMUL", "MatMul"},
    {"CAST", "Cast"},
    {"CEIL", "Ceil"},
    {"CONCATENATION", "Concat"},
    {"CONV_2D", "Conv", "attr.group == 1"},
    {"COS", "Cos"},
    {"CUMSUM", "CumSum"},
    {"DEPTHWISE_CONV_2D", "Conv", "attr.group > 1 and attr.group == in[0].dim[1]"},
    {"DEPTH_TO_SPACE", "DepthToSpace"},
    {"DEQUANTIZE", "DequantizeLinear"},
    {"DIV", "Div"},
    {"ELU", "Elu"},
    {"EQUAL", "Equal"},
    {"EXP", "Exp"},
    {"EXPAND_DIMS", "Unsqueeze"},
    {"FLOOR", "Floor"},
    {"FULLY_CONNECTED", "Gemm"},
    {"GATHER", "Gather"},
    {"GATHER_ND", "GatherND"},
    {"GELU", "Gelu"},
    {"GREATER", "Greater"},
    {"GREATER_EQUAL", "GreaterOrEqual"},
    {"HARD_SWISH", "HardSwish"},
    {"LEAKY_RELU", "LeakyRelu"},
    {"LESS", "Less"},
    {"LESS_EQUAL", "LessOrEqual"},
    {"LOG", "Log"},
    {"LOGICAL_AND", "And"},
    {"LOGICAL_NOT", "Not"},
    {"LOGICAL_OR", "Or"},
    {"LOGISTIC", "Sigmoid"},
    {"LOG_SOFTMAX", "LogSoftmax"},
    {"MAXIMUM", "Max"},
    {"MAX_POOL_2D", "MaxPool"},
    {"MEAN", "ReduceMean"},
    {"MINIMUM", "Min"},
    {"MIRROR_PAD", "Pad", "attr.mode == \"reflect\""},
    {"MUL", "Mul"},
    {"NEG", "Neg"},
    {"PAD", "Pad", "attr.mode == \"constant\""},
    {"PADV2", "Pad", "attr.mode == \"constant\""},
    {"POW", "Pow"},
    {"PRELU", "PRelu"},
    {"QUANTIZE", "QuantizeLinear"},
    {"REDUCE_MAX", "ReduceMax"},
    {"REDUCE_MIN", "ReduceMin"},
    {"REDUCE_PROD", "ReduceProd"},
    {"RELU", "Relu"},
    {"RESHAPE", "Reshape"},
    {"RESIZE_BILINEAR", "Resize", "attr.mode == \"linear\""},
    {"RESIZE_NEAREST_NEIGHBOR", "Resize", "attr.mode == \"nearest\""},
    {"ROUND", "Round"},
    {"SCATTER_ND", "ScatterND"},
    {"SELECT", "Where"},
    {"SELECT_V2", "Where"},
    {"SHAPE", "Shape"},
    {"SIGN", "Sign"},
    {"SIN", "Sin"},
    {"SLICE", "Slice"},
    {"SOFTMAX", "Softmax"},
    {"SPACE_TO_DEPTH", "SpaceToDepth"},
    {"SPLIT", "Split"},
    {"SPLIT_V", "Split"},
    {"SQRT", "Sqrt"},
    {"SQUEEZE", "Squeeze"},
    {"STRIDED_SLICE", "Slice"},
    {"SUB", "Sub"},
    {"SUM", "ReduceSum"},
    {"TANH", "Tanh"},
    {"TILE", "Tile"},
    {"TOPK_V2", "TopK"},
    {"TRANSPOSE", "Transpose"},
    {"TRANSPOSE_CONV", "ConvTranspose"},
    {"UNIDIRECTIONAL_SEQUENCE_LSTM", "LSTM", "attr.direction != \"bidirectional\""},
});

}  // namespace

const TfliteOp* find_tflite_op(std::string_view name) {
  const auto* const found = std::lower_bound(
      kOps.begin(), kOps.end(), name,
      [](const TfliteOp& op, std::string_view wanted) { return op.name < wanted; });
  return found != kOps.end() && found->name == name ? found : nullptr;
}

}  // namespace cleave
