// Numbers that JSON does not have: torch up to 2.7 writes Infinity, -Infinity and NaN bare, later
// versions as strings, "Infinity", which JSON readers accept.
#pragma once

#include <string_view>
#include <vector>

namespace cleave {

// The text with such numbers in quotes, followed by 64 zero bytes; empty when there are none.
// Linear.
std::vector<char> with_quoted_numbers(std::string_view json);

}  // namespace cleave
