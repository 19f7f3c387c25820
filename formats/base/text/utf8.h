// UTF-8: the lengths of characters, and the first byte that is not UTF-8.
#pragma once

#include <cstddef>
#include <string_view>

namespace cleave {

// Bytes of the first character of `text`; 0 when there is none: the text is empty, or the bytes are
// cut off, overlong, a surrogate or past U+10FFFF.
std::size_t utf8_character(std::string_view text);

// Offset of the first byte that is not part of a valid character; npos when all is UTF-8.
std::size_t first_invalid_utf8(std::string_view text);

}  // namespace cleave
