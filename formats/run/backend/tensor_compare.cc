#include "formats/run/backend/tensor_compare.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "core/base/decimal.h"

namespace cleave {
namespace {

template <class Number>
Number read_as(const Tensor& tensor, std::uint64_t at) {
  Number number;
  std::memcpy(&number, tensor.bytes.data() + at * sizeof number, sizeof number);
  return number;
}

// IEEE half precision.
double half_number(std::uint16_t bits) {
  const int exponent = bits >> 10U & 0x1f;
  const int fraction = bits & 0x3ff;
  const double sign = (bits & 0x8000U) != 0 ? -1 : 1;
  if (exponent == 31) {
    return fraction == 0 ? sign * std::numeric_limits<double>::infinity() : std::nan("");
  }
  if (exponent == 0) return sign * std::ldexp(fraction, -24);
  return sign * std::ldexp(fraction + 1024, exponent - 25);
}

double brain_number(std::uint16_t bits) {
  const std::uint32_t wide = std::uint32_t{bits} << 16U;
  float number;
  std::memcpy(&number, &wide, sizeof number);
  return number;
}

bool is_float(DType dtype) {
  return dtype == DType::float32 || dtype == DType::float64 || dtype == DType::float16 ||
         dtype == DType::bfloat16;
}

bool is_integer(DType dtype) {
  switch (dtype) {
    case DType::uint8:
    case DType::int8:
    case DType::uint16:
    case DType::int16:
    case DType::int32:
    case DType::int64:
    case DType::uint32:
    case DType::uint64:
    case DType::boolean:
      return true;
    default:
      return false;
  }
}

// Infinite when exactly one is NaN, or infinities differ.
double float_distance(double wants, double is) {
  if (std::isnan(wants) || std::isnan(is)) {
    return std::isnan(wants) && std::isnan(is) ? 0 : std::numeric_limits<double>::infinity();
  }
  if (std::isinf(wants) || std::isinf(is)) {
    return wants == is ? 0 : std::numeric_limits<double>::infinity();
  }
  return std::fabs(wants - is);
}

// The largest distance that is allowed. Neither infinite nor NaN: these have no tolerance of their
// own, but a NaN is as good as any other, whatever its bits.
double most_distance(DType dtype, double wants, const CompareTolerance& tolerance) {
  if (is_float(dtype) && !std::isfinite(wants)) return tolerance.atol;
  if (is_float(dtype)) return tolerance.atol + tolerance.rtol * std::fabs(wants);
  const bool is_narrow = dtype == DType::uint8 || dtype == DType::int8;
  return is_narrow ? static_cast<double>(tolerance.integers) : 0;
}

// 64-bit integers that are equal as doubles may still differ.
bool has_same_bits(const Tensor& wants, const Tensor& is, std::uint64_t at) {
  const auto size = static_cast<std::size_t>(dtype_bits(wants.dtype)) / 8;
  return std::memcmp(wants.bytes.data() + at * size, is.bytes.data() + at * size, size) == 0;
}

std::string number_text(double number) { return rounded_text(number, 6); }

std::string shape_text(const Tensor& tensor) {
  const std::string text = tensor_type_text(tensor);
  return text.substr(text.find('('));
}

}  // namespace

double element_at(const Tensor& tensor, std::uint64_t at) {
  switch (tensor.dtype) {
    case DType::float32:
      return read_as<float>(tensor, at);
    case DType::float64:
      return read_as<double>(tensor, at);
    case DType::float16:
      return half_number(read_as<std::uint16_t>(tensor, at));
    case DType::bfloat16:
      return brain_number(read_as<std::uint16_t>(tensor, at));
    case DType::uint8:
    case DType::boolean:
      return read_as<std::uint8_t>(tensor, at);
    case DType::int8:
      return read_as<std::int8_t>(tensor, at);
    case DType::uint16:
      return read_as<std::uint16_t>(tensor, at);
    case DType::int16:
      return read_as<std::int16_t>(tensor, at);
    case DType::uint32:
      return read_as<std::uint32_t>(tensor, at);
    case DType::int32:
      return read_as<std::int32_t>(tensor, at);
    case DType::uint64:
      return static_cast<double>(read_as<std::uint64_t>(tensor, at));
    case DType::int64:
      return static_cast<double>(read_as<std::int64_t>(tensor, at));
    default:
      return 0;
  }
}

TensorDifference compare_tensors(const Tensor& wants, const Tensor& is,
                                 const CompareTolerance& tolerance) {
  using What = TensorDifference::What;
  TensorDifference difference{.total = wants.count()};
  if (wants.dtype != is.dtype) return difference.what = What::dtype, difference;
  if (wants.dims != is.dims) return difference.what = What::shape, difference;
  if (!is_float(wants.dtype) && !is_integer(wants.dtype)) {
    return difference.what = What::not_comparable, difference;
  }
  for (std::uint64_t i = 0; i < difference.total; ++i) {
    if (has_same_bits(wants, is, i)) continue;
    const double wanted = element_at(wants, i), got = element_at(is, i);
    const double distance = float_distance(wanted, got);
    const double most = most_distance(wants.dtype, wanted, tolerance);
    if (distance <= most && (most > 0 || is_float(wants.dtype))) continue;
    difference.what = What::values;
    if (difference.differing++ == 0 || distance > difference.largest) {
      difference.wants = wanted;
      difference.is = got;
      difference.largest = distance;
    }
  }
  return difference;
}

std::string difference_text(const TensorDifference& difference, const Tensor& wants,
                            const Tensor& is) {
  using What = TensorDifference::What;
  switch (difference.what) {
    case What::none:
    case What::not_comparable:
      return {};
    case What::dtype:
      return "dtype " + std::string(dtype_name(wants.dtype)) + " is " +
             std::string(dtype_name(is.dtype));
    case What::shape:
      return "shape " + shape_text(wants) + " is " + shape_text(is);
    case What::values:
      return std::to_string(difference.differing) + " of " + std::to_string(difference.total) +
             " differ: wants " + number_text(difference.wants) + " is " +
             number_text(difference.is);
  }
  return {};
}

}  // namespace cleave
