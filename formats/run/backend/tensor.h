// Tensors sent to a backend and received from it: one per file, as ONNX's TensorProto or numpy's
// .npy.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/dtype.h"
#include "formats/run/backend/backend.h"

namespace cleave {

struct Tensor {
  std::string name = {};
  DType dtype = DType::unknown;
  std::vector<std::int64_t> dims = {};
  std::string bytes = {};  // dense, little-endian, as raw_data of a TensorProto

  std::uint64_t count() const;  // of elements; 1 for a scalar; 2^64-1 for all that are more
};

// "float32 (2,3)"
std::string tensor_type_text(const Tensor& tensor);

// A TensorProto with raw_data.
std::string encode_tensor(const Tensor& tensor);
// nullopt unless the bytes are a TensorProto with its elements inside, as numbers of fixed size.
std::optional<Tensor> decode_tensor(std::string_view bytes);

// A .npy file of version 1.0. nullopt for dtypes that numpy does not have.
std::optional<std::string> encode_npy(const Tensor& tensor);
// nullopt unless the bytes are such a file, in C order, little-endian.
std::optional<Tensor> decode_npy(std::string_view bytes);

// Compares an output of a backend with the reference's: dtype and shape first, then elements.
//
//   floats              |wants - is| <= atol + rtol * |wants|; NaN equals NaN, infinities by sign.
//                       atol is that of a tensor with such numbers: see CompareTolerance
//   integers and bools  exactly, or by the tolerance for quantised outputs
struct TensorDifference {
  enum class What : std::uint8_t { none, dtype, shape, values, not_comparable };
  What what = What::none;
  std::uint64_t differing = 0;
  std::uint64_t total = 0;
  double wants = 0, is = 0;   // at the largest difference
  double largest = 0;         // |wants - is| there
  bool has_distance = false;  // floats of one shape: the rest is known, over those that are finite
  double most_apart = 0;      // the largest |wants - is|
  double largest_wanted = 0;
  double rms = 0;  // of wants - is, as a share of that of wants; 0 when all of these are 0
  // False: all floats that are wanted are within the tolerance of 0, so that zeros pass.
  bool is_tested = true;
  bool is_finite = true;  // false: there are floats, and no one that is wanted is finite

  bool is_same() const { return what == What::none || what == What::not_comparable; }
};

// The tolerance with `atol` as it holds for this tensor. Linear in the elements.
CompareTolerance tolerance_for(const Tensor& wants, CompareTolerance tolerance);

// Strings, complex numbers and types below 8 bits are not comparable. Linear in the elements.
TensorDifference compare_tensors(const Tensor& wants, const Tensor& is,
                                 const CompareTolerance& tolerance);

// "12 of 18 differ: wants 0.0973 is 0.358", "shape (1,1,1,1) is (1,1,2,2)"; "" if they are equal.
std::string difference_text(const TensorDifference& difference, const Tensor& wants,
                            const Tensor& is);

// The element as a number; `at` is below count(). 0 for types that compare_tensors() does not take.
double element_at(const Tensor& tensor, std::uint64_t at);

}  // namespace cleave
