// UTF-8: where characters begin and end, and where text stops being UTF-8.
#pragma once

#include <cstddef>
#include <string_view>

namespace cleave {

// Bytes of the character that `text` begins with; 0 when it begins with none: the text is empty,
// or the bytes are cut off, overlong, a surrogate or past U+10FFFF.
std::size_t utf8_character(std::string_view text);

// Offset of the first byte that belongs to no valid character; npos when all is UTF-8.
std::size_t first_invalid_utf8(std::string_view text);

}  // namespace cleave
