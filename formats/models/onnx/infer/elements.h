// The elements of a value that are known without running the model: constants of the file, and what
// follows from shapes. Inference needs them when an operator takes a shape, axes or sizes as input.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/graph/dtype.h"
#include "formats/models/onnx/index/model.h"
#include "formats/models/onnx/index/type.h"

namespace cleave {

// An integer or boolean (0 or 1) of a tensor: a number, else the name of a symbolic dim, else
// unknown.
struct OnnxElement {
  std::optional<std::int64_t> value;
  std::string name;
};

// A small tensor of integers or reals: its dims, all fixed, and its elements in row-major order.
struct OnnxElements {
  static constexpr std::size_t kMax = 1024;  // longer tensors are not tracked

  DType dtype = DType::unknown;
  std::vector<std::int64_t> dims;
  std::vector<OnnxElement> integers;  // of an integer or boolean dtype
  std::vector<double> reals;          // of a floating dtype: all known

  bool is_real() const { return dtype == DType::float32 || dtype == DType::float64; }
  std::size_t count() const { return is_real() ? reals.size() : integers.size(); }
};

// Number of elements of a tensor with these dims. nullopt above `most` (also when a dim of 0 hides
// that), and when a dim is below 0.
std::optional<std::size_t> small_count(const std::vector<std::int64_t>& dims,
                                       std::size_t most = OnnxElements::kMax);

// Unknown elements for a tensor of this type; nullopt when there are too many, a dim is not fixed,
// or the dtype is not an integer.
std::optional<OnnxElements> unknown_elements(const OnnxType& type);

// The elements of a dense tensor in the file. nullopt when it is external, has more than `most`
// elements or another dtype, or its data does not fit its dims.
std::optional<OnnxElements> read_onnx_elements(const OnnxTensor& tensor,
                                               std::size_t most = OnnxElements::kMax);

// All integers; nullopt unless every one is a known number.
std::optional<std::vector<std::int64_t>> known_integers(const OnnxElements& elements);

// Converts between a dim and an element; a number below 0 is not a size.
OnnxElement element_of(const OnnxDim& dim);
OnnxDim dim_of(const OnnxElement& element);

}  // namespace cleave
