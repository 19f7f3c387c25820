// An operator under all its spellings: ONNX writes `LogSoftmax`, torch.fx `torch.log_softmax`,
// `torch.nn.modules.activation.LogSoftmax`, `torch.ops.aten.log_softmax.int`. Tables that know
// operators look them up by one key.
#pragma once

#include <string>
#include <string_view>

namespace cleave {

// The last part of the name that is no overload, in lower case and without underscores:
// "torch.nn.modules.conv.Conv2d" -> "conv2d"; "aten.add.Tensor" -> "add"; "relu_" -> "relu".
// Empty for names of packages other than torch's and Python's own: their ops may be anything.
std::string op_key(std::string_view op);

}  // namespace cleave
