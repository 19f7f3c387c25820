// The numbers that JSON lacks: torch up to 2.7 writes Infinity, -Infinity and NaN as they are, later
// ones as strings, "Infinity", which is what JSON readers take.
#pragma once

#include <string_view>
#include <vector>

namespace cleave {

// The text with such numbers in quotes, and 64 zero bytes behind it; empty when there are none.
// Linear.
std::vector<char> with_quoted_numbers(std::string_view json);

}  // namespace cleave
