// The names that one layer has in the two forms of a torch.export program: as exported (training IR)
// and after run_decompositions().
//
//   aten.conv2d    aten.convolution
//   aten.linear    aten.addmm, aten.mm
//   aten.relu_     aten.relu
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cleave {

struct IrTwin {
  std::string op;  // "aten.convolution": any overload
  bool is_decomposed;
};

// What the op "torch.ops.aten.conv2d.default" is called in the other form. Empty for ops that are
// not aten's, and for those that keep their name.
std::vector<IrTwin> ir_twins(std::string_view op);

}  // namespace cleave
