// Floating-point operations of the operators of TensorFlow Lite, whose tensors are NHWC and whose
// weights are laid out otherwise than those of ONNX and torch.
#pragma once

#include <string_view>

#include "core/cost/op_formulas.h"

namespace cleave {

// The row of the builtin operator, "CONV_2D"; null when it has none. Counted as in op_flops.cc; a
// fused activation adds 1 for each output element. Quantised operators count as those on floats.
const Formula* tflite_flops(std::string_view op);

}  // namespace cleave
