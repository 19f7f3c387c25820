// Order of ties: outputs of TopK, ArgMax and ArgMin with other indices than the reference's, where
// the elements at these indices are equal. ONNX takes the lower index first; many compilers do not.
#pragma once

#include <cstdint>
#include <string_view>

#include "formats/run/backend/tensor.h"

namespace cleave {

struct IndexOutput {
  std::string_view op;     // "TopK", "ArgMax", "ArgMin"
  std::int64_t axis = -1;  // the axis of `data` that indices refer to
  const Tensor& data;
  const Tensor& wants;  // int64 indices
  const Tensor& is;
};

// True when the shapes agree and each index of `is` refers to an element equal to that of `wants`.
// Linear in the indices. False for other ops, and for indices out of range.
bool is_tie_order(const IndexOutput& output);

}  // namespace cleave
