// Compares an output of a backend with the reference's: dtype and shape first, then elements.
//
//   floats              |wants - is| <= atol + rtol * |wants|; NaN equals NaN, infinities by sign
//   integers and bools  exactly, or by the tolerance for quantised outputs
#pragma once

#include <cstdint>
#include <string>

#include "formats/run/backend/backend.h"
#include "formats/run/backend/tensor.h"

namespace cleave {

struct TensorDifference {
  enum class What : std::uint8_t { none, dtype, shape, values, not_comparable };
  What what = What::none;
  std::uint64_t differing = 0;
  std::uint64_t total = 0;
  double wants = 0, is = 0;  // at the largest difference
  double largest = 0;        // |wants - is| there

  bool is_same() const { return what == What::none || what == What::not_comparable; }
};

// Strings, complex numbers and types below 8 bits are not comparable. Linear in the elements.
TensorDifference compare_tensors(const Tensor& wants, const Tensor& is,
                                 const CompareTolerance& tolerance);

// "12 of 18 differ: wants 0.0973 is 0.358", "shape (1,1,1,1) is (1,1,2,2)"; "" if they are equal.
std::string difference_text(const TensorDifference& difference, const Tensor& wants,
                            const Tensor& is);

// The element as a number; `at` is below count(). 0 for types that compare_tensors() does not take.
double element_at(const Tensor& tensor, std::uint64_t at);

}  // namespace cleave
