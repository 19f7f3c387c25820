#include "core/graph/dtype.h"

#include <array>

namespace cleave {
namespace {

struct DTypeInfo {
  std::string_view name;
  int bits;
};

// In the order of the enumerators.
constexpr std::array<DTypeInfo, kDTypeCount> kInfo = {{
    {"unknown", 0},
    {"float32", 32},
    {"uint8", 8},
    {"int8", 8},
    {"uint16", 16},
    {"int16", 16},
    {"int32", 32},
    {"int64", 64},
    {"string", 0},
    {"bool", 8},
    {"float16", 16},
    {"float64", 64},
    {"uint32", 32},
    {"uint64", 64},
    {"complex64", 64},
    {"complex128", 128},
    {"bfloat16", 16},
    {"float8_e4m3fn", 8},
    {"float8_e4m3fnuz", 8},
    {"float8_e5m2", 8},
    {"float8_e5m2fnuz", 8},
    {"uint4", 4},
    {"int4", 4},
    {"float4_e2m1", 4},
    {"float8_e8m0", 8},
    {"uint2", 2},
    {"int2", 2},
}};

const DTypeInfo& info(DType dtype) { return kInfo[static_cast<std::size_t>(dtype)]; }

}  // namespace

std::string_view dtype_name(DType dtype) { return info(dtype).name; }

std::optional<DType> parse_dtype(std::string_view name) {
  for (int i = 1; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    if (info(dtype).name == name) return dtype;
  }
  return std::nullopt;
}

int dtype_bits(DType dtype) { return info(dtype).bits; }

bool is_float_dtype(DType dtype) {
  return dtype == DType::float16 || dtype == DType::bfloat16 || dtype == DType::float32 ||
         dtype == DType::float64;
}

bool is_integer_dtype(DType dtype) {
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

DType dtype_from_onnx(std::int64_t number) {
  if (number < 0 || number >= kDTypeCount) return DType::unknown;
  return static_cast<DType>(number);
}

}  // namespace cleave
