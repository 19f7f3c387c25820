// Infers the elements of an operator's output from those of its inputs: the arithmetic on shapes
// that exporters leave in models.
//
//   Shape(x: [N,3,8]) -> Slice [1:] -> Concat with [-1]     =>  {3, 8, -1}
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "formats/models/onnx/infer/elements.h"
#include "formats/models/onnx/infer/op_call.h"

namespace cleave {

// Positions of elements in row-major tensors, for rules that compute elements.

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

using OnnxElementRule = std::optional<OnnxElements> (*)(const OnnxOpCall& call);

struct OnnxElementRuleEntry {
  std::string_view op;  // of the default domain
  OnnxElementRule rule;
};

// By output; shorter when the rest is unknown.
using OnnxElementList = std::vector<std::optional<OnnxElements>>;
using OnnxElementListRule = OnnxElementList (*)(const OnnxOpCall& call);

struct OnnxElementListEntry {
  std::string_view op;  // of the default domain
  OnnxElementListRule rule;
};

// Rules for operators that pick, move and repeat elements, and for those that compute with them.
std::span<const OnnxElementRuleEntry> onnx_picking_rules();
std::span<const OnnxElementRuleEntry> onnx_arithmetic_rules();
std::span<const OnnxElementListEntry> onnx_reduction_elements();
std::span<const OnnxElementListEntry> onnx_selection_elements();
std::span<const OnnxElementListEntry> onnx_real_elements();

// The known elements of the outputs, whose types must already be inferred. At most
// OnnxElements::kMax elements are tracked, so that the cost of a node is bounded. NaN and infinite
// reals, and integers that do not fit their dtype, are unknown: runtimes differ there.
OnnxElementList infer_elements(const OnnxOpCall& call);

// The value as an element; unknown when the dtype cannot hold it.
OnnxElement onnx_element_in(DType dtype, std::optional<std::int64_t> value);
// The real rounded to the dtype.
double onnx_rounded(DType dtype, double value);
// Element i as a real for comparisons; nullopt when it is unknown, NaN, or an integer that a real
// cannot represent exactly.
std::optional<double> onnx_sort_key(const OnnxElements& elements, std::size_t i);

// The elements that Slice takes from one axis: `count` of them from `start`, `step` apart.
struct OnnxSliceRange {
  std::int64_t start = 0;
  std::int64_t count = 0;
  std::int64_t step = 1;
};
// nullopt when the step is 0.
std::optional<OnnxSliceRange> slice_range(std::int64_t size, std::int64_t start, std::int64_t end,
                                          std::int64_t step);

// The dims that two shapes broadcast to; nullopt when they do not broadcast.
std::optional<std::vector<std::int64_t>> broadcast_dims(const std::vector<std::int64_t>& a,
                                                        const std::vector<std::int64_t>& b);

// For each element of a tensor of dims `to`, in row-major order: the index of the corresponding
// element of a tensor of dims `from`, which broadcasts to `to`.
std::vector<std::size_t> broadcast_picks(const std::vector<std::int64_t>& from,
                                         const std::vector<std::int64_t>& to);

}  // namespace cleave
