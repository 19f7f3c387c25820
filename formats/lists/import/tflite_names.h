// The operators of TensorFlow Lite, as vendors' tables name them, with the ONNX operators that do
// the same.
#pragma once

#include <string_view>

namespace cleave {

struct TfliteOp {
  std::string_view name;        // "DEPTHWISE_CONV_2D"
  std::string_view onnx;        // "Conv"
  std::string_view where = {};  // the nodes of the ONNX operator that it is; empty: all
};

// Null for a name that is not in the table.
const TfliteOp* find_tflite_op(std::string_view name);

}  // namespace cleave
