// Elements of tensors as they lie in model files: little-endian, one after another, booleans as a byte.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <string_view>
#include <type_traits>
#include <vector>

#include "core/graph/graph.h"

namespace cleave {

// IEEE half precision.
inline double half_number(std::uint16_t bits) {
  const double sign = (bits & 0x8000U) != 0 ? -1.0 : 1.0;
  const int exponent = bits >> 10U & 0x1f;
  const int fraction = bits & 0x3ff;
  if (exponent == 31) {
    return fraction == 0 ? sign * std::numeric_limits<double>::infinity() : std::nan("");
  }
  if (exponent == 0) return sign * std::ldexp(fraction, -24);
  return sign * std::ldexp(fraction + 1024, exponent - 25);
}

// Calls `take` with the element at `at`: whole numbers in their own type, the short floats as double. False, and no
// call, where a dtype has no such number: complex ones, and those of less than a byte.
template <class Take>
bool take_element(DType dtype, const char* at, Take take) {
  const auto read = [at]<class Number>(Number number) {
    std::memcpy(&number, at, sizeof number);
    return number;
  };
  switch (dtype) {
    case DType::boolean:
    case DType::uint8:
      return take(read(std::uint8_t{})), true;
    case DType::int8:
      return take(read(std::int8_t{})), true;
    case DType::uint16:
      return take(read(std::uint16_t{})), true;
    case DType::int16:
      return take(read(std::int16_t{})), true;
    case DType::uint32:
      return take(read(std::uint32_t{})), true;
    case DType::int32:
      return take(read(std::int32_t{})), true;
    case DType::uint64:
      return take(read(std::uint64_t{})), true;
    case DType::int64:
      return take(read(std::int64_t{})), true;
    case DType::float16:
      return take(half_number(read(std::uint16_t{}))), true;
    case DType::bfloat16:
      return take(static_cast<double>(
                 std::bit_cast<float>(std::uint32_t{read(std::uint16_t{})} << 16U))),
             true;
    case DType::float32:
      return take(read(float{})), true;
    case DType::float64:
      return take(read(double{})), true;
    default:
      return false;
  }
}

// The first `count` elements of the bytes. None where the bytes are too few, or the dtype has no numbers or, as uint64,
// some that no literal holds.
inline std::optional<std::vector<Literal>> literals_of(DType dtype, std::string_view bytes,
                                                       std::size_t count) {
  const auto width = static_cast<std::size_t>(dtype_bits(dtype)) / 8;
  if (width == 0 || dtype == DType::uint64 || bytes.size() / width < count) return std::nullopt;
  std::vector<Literal> literals;
  literals.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    const bool is_number = take_element(dtype, bytes.data() + i * width, [&](auto number) {
      if constexpr (std::is_floating_point_v<decltype(number)>) {
        literals.emplace_back(static_cast<double>(number));
      } else {
        literals.emplace_back(static_cast<std::int64_t>(number));
      }
    });
    if (!is_number) return std::nullopt;
  }
  return literals;
}

}  // namespace cleave
