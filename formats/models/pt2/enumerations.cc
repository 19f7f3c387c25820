#include "formats/models/pt2/enumerations.h"

#include <array>
#include <cstddef>
#include <utility>

namespace cleave {
namespace {

template <std::size_t N>
std::string_view name_at(const std::array<std::string_view, N>& names, std::int64_t number) {
  if (number < 0 || static_cast<std::size_t>(number) >= N) return "unknown";
  return names[static_cast<std::size_t>(number)];
}

constexpr std::array<std::pair<int, DType>, 20> kDTypes = {{
    {1, DType::uint8},
    {2, DType::int8},
    {3, DType::int16},
    {4, DType::int32},
    {5, DType::int64},
    {6, DType::float16},
    {7, DType::float32},
    {8, DType::float64},
    {10, DType::complex64},
    {11, DType::complex128},
    {12, DType::boolean},
    {13, DType::bfloat16},
    {28, DType::uint16},
    {29, DType::float8_e4m3fn},
    {30, DType::float8_e5m2},
    {31, DType::float8_e4m3fnuz},
    {32, DType::float8_e5m2fnuz},
    {33, DType::float8_e8m0},
    {34, DType::uint32},
    {35, DType::uint64},
}};

}  // namespace

DType dtype_from_torch(std::int64_t number) {
  for (const auto& [known, dtype] : kDTypes) {
    if (known == number) return dtype;
  }
  return DType::unknown;
}

std::string_view layout_name(std::int64_t number) {
  static constexpr std::array<std::string_view, 8> kNames = {"unknown", "coo", "csr",    "csc",
                                                             "bsr",     "bsc", "mkldnn", "strided"};
  return name_at(kNames, number);
}

std::string_view memory_format_name(std::int64_t number) {
  static constexpr std::array<std::string_view, 5> kNames = {
      "unknown", "contiguous", "channels_last", "channels_last_3d", "preserve"};
  return name_at(kNames, number);
}

}  // namespace cleave
