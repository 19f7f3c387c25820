#include "formats/models/tflite/tensor_type.h"

#include <array>

namespace cleave {

DType tflite_dtype(std::uint8_t type) {
  constexpr std::array<DType, kTfliteTypeCount> kTypes = {
      DType::float32, DType::float16,       DType::int32,      DType::uint8,     DType::int64,
      DType::string,  DType::boolean,       DType::int16,      DType::complex64, DType::int8,
      DType::float64, DType::complex128,    DType::uint64,     DType::unknown,   DType::unknown,
      DType::uint32,  DType::uint16,        DType::int4,       DType::bfloat16,  DType::int2,
      DType::uint4,   DType::float8_e4m3fn, DType::float8_e5m2};
  return type < kTypes.size() ? kTypes[type] : DType::unknown;
}

std::uint64_t tflite_type_bits(std::uint8_t type) {
  return static_cast<std::uint64_t>(dtype_bits(tflite_dtype(type)));
}

bool is_tensor_type(std::uint8_t type) { return type != kTfliteResource && type != kTfliteVariant; }

}  // namespace cleave
