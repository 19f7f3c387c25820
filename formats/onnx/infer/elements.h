// What is known of a value's elements without running the model: constants of the file, and what
// follows from shapes. Inference needs it where an operator takes a shape, axes or sizes as input.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/graph/dtype.h"
#include "formats/onnx/index/model.h"
#include "formats/onnx/index/type.h"

namespace cleave {

// An integer or boolean (0 or 1) of a tensor: a number, else a symbolic dim's name, else unknown.
struct OnnxElement {
  std::optional<std::int64_t> value;
  std::string name;
};

// A small tensor of integers or reals: its dims, all fixed, and its elements in row-major order.
struct OnnxElements {
  static constexpr std::size_t kMax = 1024;  // longer ones are not followed

  DType dtype = DType::unknown;
  std::vector<std::int64_t> dims;
  std::vector<OnnxElement> integers;  // of an integer or boolean dtype
  std::vector<double> reals;          // of a floating dtype: all known

  bool is_real() const { return dtype == DType::float32 || dtype == DType::float64; }
  std::size_t count() const { return is_real() ? reals.size() : integers.size(); }
};

bool is_integer_dtype(DType dtype);  // also bool; not 4-bit types

// Number of elements of a tensor of these dims; nothing when more than OnnxElements::kMax (or it
// would be so but for a dim of 0), or when a dim is below 0.
std::optional<std::size_t> small_count(const std::vector<std::int64_t>& dims);

// Elements of `dims` and `dtype` about which nothing else is known; nothing when they are too many
// or a dim is not fixed, or the dtype is no integer.
std::optional<OnnxElements> unknown_elements(const OnnxType& type);

// The elements of a dense tensor in the file. Nothing when it is external, has more than kMax
// elements or another dtype, or when its data does not fit its dims.
std::optional<OnnxElements> read_onnx_elements(const OnnxTensor& tensor);

// All of them, where all are known numbers.
std::optional<std::vector<std::int64_t>> known_integers(const OnnxElements& elements);

// As an element and as a dim: what is below 0 is no size.
OnnxElement element_of(const OnnxDim& dim);
OnnxDim dim_of(const OnnxElement& element);

}  // namespace cleave
