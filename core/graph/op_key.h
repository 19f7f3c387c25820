// One key for an operator under all its spellings: ONNX writes `LogSoftmax`, torch.fx
// `torch.log_softmax`, `torch.nn.modules.activation.LogSoftmax`, `torch.ops.aten.log_softmax.int`.
// Tables about operators are looked up by this key.
#pragma once

#include <string>
#include <string_view>

namespace cleave {

// The last part of the name that is not an overload, in lower case and without underscores:
// "torch.nn.modules.conv.Conv2d" -> "conv2d"; "aten.add.Tensor" -> "add"; "relu_" -> "relu". Empty
// for names of packages other than torch's and Python's own, whose ops may be anything.
std::string op_key(std::string_view op);

}  // namespace cleave
