// The elements of an ONNX model's constants, for rules that ask what a constant is.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "core/graph/attribute.h"
#include "core/graph/graph.h"
#include "formats/onnx/index/model.h"

namespace cleave {

inline constexpr std::size_t kMostElementsRead = 65'536;  // of one constant

// Of an initializer in the file, or of what a Constant node makes; in row-major order, booleans as
// 0 and 1. nullopt for external data, for what other nodes compute, for dtypes that are neither
// integers nor reals of 8 to 64 bits, and above kMostElementsRead. Linear in the elements.
std::optional<std::vector<Literal>> onnx_constant_elements(const OnnxModel& model,
                                                           const Graph& graph, ValueId parameter);

}  // namespace cleave
