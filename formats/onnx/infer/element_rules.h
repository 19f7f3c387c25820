// What is known of the elements of an operator's output, given those of its inputs: the arithmetic
// on shapes that exporters leave in models.
//
//   Shape(x: [N,3,8]) -> Slice [1:] -> Concat with [-1]     =>  {3, 8, -1}
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "formats/onnx/infer/op_call.h"

namespace cleave {

using OnnxElementRule = std::optional<OnnxElements> (*)(const OnnxOpCall& call);

struct OnnxElementRuleEntry {
  std::string_view op;  // of the default domain
  OnnxElementRule rule;
};

// By output; shorter where nothing is known of the rest.
using OnnxElementList = std::vector<std::optional<OnnxElements>>;
using OnnxElementListRule = OnnxElementList (*)(const OnnxOpCall& call);

struct OnnxElementListEntry {
  std::string_view op;  // of the default domain
  OnnxElementListRule rule;
};

// Operators that pick, move and repeat elements; and those that compute with them.
std::span<const OnnxElementRuleEntry> onnx_picking_rules();
std::span<const OnnxElementRuleEntry> onnx_arithmetic_rules();
std::span<const OnnxElementListEntry> onnx_reduction_elements();
std::span<const OnnxElementListEntry> onnx_selection_elements();
std::span<const OnnxElementListEntry> onnx_real_elements();

// What is known of the elements of the outputs, whose types are inferred already. At most
// OnnxElements::kMax elements are ever followed, so that the cost of a node is bounded. A real that
// is no number is unknown, and an integer that does not fit its dtype: there runtimes differ.
OnnxElementList infer_elements(const OnnxOpCall& call);

// The value as an element, unknown where the dtype does not hold it.
OnnxElement onnx_element_in(DType dtype, std::optional<std::int64_t> value);
// The real as the dtype holds it.
double onnx_rounded(DType dtype, double value);
// Element i as a real to compare with others; nothing where it is unknown, no number, or an integer
// that a real does not hold exactly.
std::optional<double> onnx_sort_key(const OnnxElements& elements, std::size_t i);

// The elements of one axis that Slice takes: `count` of them from `start`, `step` apart.
struct OnnxSliceRange {
  std::int64_t start = 0;
  std::int64_t count = 0;
  std::int64_t step = 1;
};
// Nothing when the step is none.
std::optional<OnnxSliceRange> slice_range(std::int64_t size, std::int64_t start, std::int64_t end,
                                          std::int64_t step);

// The dims that two shapes broadcast to; nothing when they do not.
std::optional<std::vector<std::int64_t>> broadcast_dims(const std::vector<std::int64_t>& a,
                                                        const std::vector<std::int64_t>& b);

// For each element of a tensor of dims `to`, in row-major order: the element of a tensor of dims
// `from`, which broadcasts to them, that stands there.
std::vector<std::size_t> broadcast_picks(const std::vector<std::int64_t>& from,
                                         const std::vector<std::int64_t>& to);

}  // namespace cleave
