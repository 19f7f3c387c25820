// Operators of ONNX that draw numbers at random, so that two nodes of them differ, and so do two runs of one.
#pragma once

#include <string_view>

namespace cleave {

// Whether an operator of ONNX's own domain draws at random whatever its inputs are. Dropout is not among
// them: it draws in training only.
bool is_random_op(std::string_view op);

}  // namespace cleave
