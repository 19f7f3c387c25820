// Made by scripts/dev/newer_operators.py from onnx 1.23.2, opset 28.
#include "formats/onnx/read/reader.h"

#include <array>

namespace cleave {

namespace {

constexpr std::array<FunctionText, 6> kBodies = {{
    {"HardSwish", 14, "X", "Y", "HS_X = HardSigmoid X alpha=f0.16666667 beta=f0.5; Y = Mul X HS_X"},
    {"HardSwish", 22, "X", "Y", "HS_X = HardSigmoid X alpha=f0.16666667 beta=f0.5; Y = Mul X HS_X"},
    {"Mish", 18, "X", "Y",
     "Softplus_X = Softplus X; TanHSoftplusX = Tanh Softplus_X; Y = Mul X TanHSoftplusX"},
    {"Mish", 22, "X", "Y",
     "Softplus_X = Softplus X; TanHSoftplusX = Tanh Softplus_X; Y = Mul X TanHSoftplusX"},
    {"SwiGLU", 28, "A B", "Y", "SwishGate = Swish A alpha=@alpha; Y = Mul SwishGate B"},
    {"Swish", 24, "X", "Y",
     "Alpha = Constant value_float=@alpha; AlphaCast = CastLike Alpha X; AlphaMulX = Mul "
     "AlphaCast X; SigmoidAlphaMulX = Sigmoid AlphaMulX; Y = Mul X SigmoidAlphaMulX"},
}};

}  // namespace

std::span<const FunctionText> function_texts() { return kBodies; }

}  // namespace cleave
