// Positions of elements in row-major tensors, for rules that compute elements.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "formats/models/onnx/infer/elements.h"
#include "formats/models/onnx/infer/op_call.h"

namespace cleave {

// Row-major steps from one element to the next along each dim.
std::vector<std::int64_t> strides_of(const std::vector<std::int64_t>& dims);

// The elements of `from` at `picks`, with dims `dims`.
OnnxElements picked(const OnnxElements& from, std::vector<std::int64_t> dims,
                    std::span<const std::size_t> picks);

// A tensor as lines along one axis: element i of line (o, k) is at (o * size + i) * inner + k.
struct OnnxAxisLines {
  std::size_t outer = 1;  // elements of the dims before the axis
  std::size_t size = 0;
  std::size_t inner = 1;  // elements of the dims after it

  std::size_t at(std::size_t o, std::size_t i, std::size_t k) const {
    return (o * size + i) * inner + k;
  }
};
// `axis` is below the number of dims.
OnnxAxisLines lines_along(const std::vector<std::int64_t>& dims, std::size_t axis);

// The index of row-major position `at` in a tensor of these dims, none of which is 0.
std::vector<std::int64_t> index_at(std::size_t at, const std::vector<std::int64_t>& dims);

// An index into a dim of `size`, counted from its end when below 0; nullopt when it is outside.
std::optional<std::size_t> wrapped_index(std::int64_t index, std::int64_t size);

}  // namespace cleave
