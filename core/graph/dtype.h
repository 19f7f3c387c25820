// Element types of tensors: names, bit widths, and their numbers in ONNX files.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace cleave {

// The enumerators are in the order of ONNX's TensorProto.DataType, so that the numbers are the
// same.
enum class DType : std::uint8_t {
  unknown,
  float32,
  uint8,
  int8,
  uint16,
  int16,
  int32,
  int64,
  string,
  boolean,
  float16,
  float64,
  uint32,
  uint64,
  complex64,
  complex128,
  bfloat16,
  float8_e4m3fn,
  float8_e4m3fnuz,
  float8_e5m2,
  float8_e5m2fnuz,
  uint4,
  int4,
  float4_e2m1,
  float8_e8m0,
  uint2,
  int2,
};
inline constexpr int kDTypeCount = 27;

// "float32", "bool", ...; "unknown" for DType::unknown.
std::string_view dtype_name(DType dtype);

// The dtype with that name, or nullopt. "unknown" is not a name.
std::optional<DType> parse_dtype(std::string_view name);

// Bits of one element; 0 when the size is not fixed (string, unknown).
int dtype_bits(DType dtype);

// True for the floating-point numbers that nodes compute with: of 16 bits or more.
bool is_float_dtype(DType dtype);
// True for whole numbers of 8 bits or more, and for bool.
bool is_integer_dtype(DType dtype);

// The dtype with that number in ONNX; DType::unknown for 0 and for numbers that are not in the
// table.
DType dtype_from_onnx(std::int64_t number);

}  // namespace cleave
