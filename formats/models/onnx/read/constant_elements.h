// The elements of an ONNX model's constants, for rules that ask what a constant is.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "core/graph/attribute.h"
#include "core/graph/graph.h"
#include "formats/models/onnx/index/model.h"

namespace cleave {

inline constexpr std::size_t kMostElementsRead = 65'536;  // of one constant

// The elements of an initializer in the file or of a Constant node's output, in row-major order;
// booleans are 0 and 1. nullopt for external data, for constants that other nodes compute, for
// dtypes other than booleans, integers and reals of 8 to 64 bits, and above kMostElementsRead.
// Linear in the elements.
std::optional<std::vector<Literal>> onnx_constant_elements(const OnnxModel& model,
                                                           const Graph& graph, ValueId parameter);

}  // namespace cleave
