// UTF-8: the lengths of characters, the first byte that is not UTF-8, and how terminals show characters,
// by the tables of Unicode in utf8proc.
#pragma once

#include <cstddef>
#include <string_view>

namespace cleave {

// Bytes of the first character of `text`; 0 when there is none: the text is empty, or the bytes are
// cut off, overlong, a surrogate or past U+10FFFF.
std::size_t utf8_character(std::string_view text);

// The columns that the first character of `text` takes in a terminal: 0 for a mark on the character
// before, 2 for wide ones, as those of East Asia; 1 for others, and for a byte that is none.
std::size_t utf8_columns(std::string_view text);

// True when the character, a valid one, shows as nothing or changes how the text around it is shown:
// controls, format characters such as direction marks, and those that are ignored where no font has
// them. Also for U+FFFE and U+FFFF, which are no characters: XML refuses them.
bool is_hidden(std::string_view character);

// Offset of the first byte that is not part of a valid character; npos when all is UTF-8.
std::size_t first_invalid_utf8(std::string_view text);

}  // namespace cleave
