// Globs: patterns with * and ?, as rules use them for ops and node names.
#pragma once

#include <string_view>

namespace cleave {

// True when the text matches the pattern: * matches any run of characters, ? any one character.
// Linear for patterns with one star, |pattern| x |text| at worst; no recursion.
bool glob_match(std::string_view pattern, std::string_view text);

// True when the pattern contains a * or a ?.
bool is_glob(std::string_view pattern);

}  // namespace cleave
