// White space in text.
#pragma once

#include <string_view>

namespace cleave {

// Blank, tab, or anything that ends a line or a page.
inline constexpr std::string_view kWhiteSpace = " \t\r\n\v\f";

// The text without white space at both ends.
inline std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kWhiteSpace);
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(kWhiteSpace) - first + 1);
}

}  // namespace cleave
