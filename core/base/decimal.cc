#include "core/base/decimal.h"

#include <array>
#include <charconv>

namespace cleave {
namespace {

// 1.8e308 in full has 309 digits; callers ask for at most 60 decimals.
using Digits = std::array<char, 400>;

template <class... Format>
std::string text_of(double number, Format... format) {
  Digits digits;
  const auto end =
      std::to_chars(digits.data(), digits.data() + digits.size(), number, format...).ptr;
  return {digits.data(), end};
}

}  // namespace

std::string shortest_text(double number) { return text_of(number); }

std::string fixed_text(double number, int decimals) {
  return text_of(number, std::chars_format::fixed, decimals);
}

std::string rounded_text(double number, int digits) {
  return text_of(number, std::chars_format::general, digits);
}

}  // namespace cleave
