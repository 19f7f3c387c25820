// Torch's numbers for element types, layouts and memory formats in archives.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/graph/dtype.h"

namespace cleave {

// DType::unknown for numbers that are not in the table, and for complex32, which no other format
// has.
DType dtype_from_torch(std::int64_t number);

// "strided", "coo", ...; "unknown".
std::string_view layout_name(std::int64_t number);

// "contiguous", "channels_last", ...; "unknown".
std::string_view memory_format_name(std::int64_t number);

}  // namespace cleave
