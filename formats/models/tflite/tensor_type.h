// TensorType, the element types of TensorFlow Lite, by their numbers in files.
#pragma once

#include <cstdint>

#include "core/graph/dtype.h"

namespace cleave {

inline constexpr std::int64_t kTfliteTypeCount = 23;
inline constexpr std::uint8_t kTfliteString = 5;
inline constexpr std::uint8_t kTfliteResource = 13;
inline constexpr std::uint8_t kTfliteVariant = 14;

// DType::unknown for resources and variants.
DType tflite_dtype(std::uint8_t type);
// Bits of one element; 0 for strings, resources and variants.
std::uint64_t tflite_type_bits(std::uint8_t type);
// Whether values of the type are tensors: not handles of resources, and not variants.
bool is_tensor_type(std::uint8_t type);

}  // namespace cleave
