// White space at both ends of a text.
#pragma once

#include <string_view>

namespace cleave {

// The text without white space at both ends.
std::string_view trim(std::string_view text);

}  // namespace cleave
