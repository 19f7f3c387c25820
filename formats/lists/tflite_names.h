// Operators of TensorFlow Lite by the names that vendors' tables have for them, and what they are in
// ONNX.
#pragma once

#include <string_view>

namespace cleave {

struct TfliteOp {
  std::string_view name;        // "DEPTHWISE_CONV_2D"
  std::string_view onnx;        // "Conv"
  std::string_view where = {};  // the nodes of the ONNX operator that it is; empty: all
};

// Null when the name is none, or when ONNX has no such operator.
const TfliteOp* find_tflite_op(std::string_view name);

}  // namespace cleave
