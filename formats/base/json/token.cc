#include "formats/base/json/token.h"

#include <algorithm>
#include <cassert>
#include <charconv>
#include <cstdlib>

namespace cleave {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::size_t digits_from(std::string_view word, std::size_t at) {
  while (at < word.size() && is_digit(word[at])) ++at;
  return at;
}

// The value of four hexadecimal digits at `at`, or nullopt if they are not all digits.
std::optional<std::uint32_t> hex_unit(std::string_view text, std::size_t at) {
  if (at > text.size() || text.size() - at < 4) return std::nullopt;
  std::uint32_t unit = 0;
  const char* const end = text.data() + at + 4;
  const auto result = std::from_chars(text.data() + at, end, unit, 16);
  if (result.ec != std::errc() || result.ptr != end) return std::nullopt;
  return unit;
}

// An escape sequence: its length and the character it means.
struct Escape {
  std::size_t length;
  char32_t character;
};

std::optional<Escape> unicode_escape(std::string_view text, std::size_t at) {
  const auto first = hex_unit(text, at + 2);
  if (!first || (*first >= 0xDC00 && *first <= 0xDFFF)) return std::nullopt;
  if (*first < 0xD800 || *first > 0xDBFF) return Escape{6, *first};
  if (text.substr(std::min(at + 6, text.size()), 2) != "\\u") return std::nullopt;
  const auto second = hex_unit(text, at + 8);
  if (!second || *second < 0xDC00 || *second > 0xDFFF) return std::nullopt;
  return Escape{12, 0x10000 + ((*first - 0xD800) << 10U) + (*second - 0xDC00)};
}

// The escape whose backslash is at `at`, if it is valid.
std::optional<Escape> escape_at(std::string_view text, std::size_t at) {
  if (at + 1 >= text.size()) return std::nullopt;
  constexpr std::string_view kLetters = "\"\\/bfnrt";
  constexpr std::string_view kMeant = "\"\\/\b\f\n\r\t";
  const std::size_t known = kLetters.find(text[at + 1]);
  if (known != kLetters.npos) return Escape{2, static_cast<char32_t>(kMeant[known])};
  return text[at + 1] == 'u' ? unicode_escape(text, at) : std::nullopt;
}

void append_utf8(std::string& to, char32_t c) {
  const auto put = [&](char32_t byte) {
    to += static_cast<char>(static_cast<unsigned char>(byte));
  };
  if (c < 0x80) return put(c);
  if (c < 0x800) {
    put(0xC0 | (c >> 6U));
  } else {
    if (c < 0x10000) {
      put(0xE0 | (c >> 12U));
    } else {
      put(0xF0 | (c >> 18U));
      put(0x80 | ((c >> 12U) & 0x3FU));
    }
    put(0x80 | ((c >> 6U) & 0x3FU));
  }
  put(0x80 | (c & 0x3FU));
}

}  // namespace

std::string_view json_type_name(JsonType type) {
  switch (type) {
    case JsonType::object:
      return "an object";
    case JsonType::list:
      return "a list";
    case JsonType::string:
      return "a string";
    case JsonType::number:
      return "a number";
    case JsonType::boolean:
      return "true or false";
    case JsonType::null:
      return "null";
    case JsonType::none:
      break;
  }
  return "nothing";
}

std::string unescaped(JsonString string) {
  if (!string.has_escapes) return std::string(string.text);
  std::string out;
  out.reserve(string.text.size());
  for (std::size_t at = 0; at < string.text.size();) {
    if (string.text[at] != '\\') {
      out += string.text[at++];
      continue;
    }
    const auto escape = escape_at(string.text, at);
    assert(escape && "the cursor checked the escapes of what it gave out");
    append_utf8(out, escape->character);
    at += escape->length;
  }
  return out;
}

std::optional<std::int64_t> JsonNumber::parsed_integer() const {
  std::int64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, number);
  if (result.ec != std::errc() || result.ptr != end) return std::nullopt;
  return number;
}

double JsonNumber::real() const {
  double number = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), number);
  if (result.ec == std::errc()) return number;
  return std::strtod(std::string(text).c_str(), nullptr);  // too large or too small: infinity or 0
}

bool JsonNumber::is_whole() const { return text.find_first_of(".eE") == text.npos; }

std::optional<BadEscape> find_bad_escape(std::string_view text) {
  for (std::size_t at = text.find('\\'); at != text.npos; at = text.find('\\', at)) {
    const auto escape = escape_at(text, at);
    if (!escape) {
      const bool is_unicode = at + 1 < text.size() && text[at + 1] == 'u';
      return BadEscape{at, text.substr(at, is_unicode ? 6 : 2)};
    }
    at += escape->length;
  }
  return std::nullopt;
}

// -?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?
bool is_json_number(std::string_view word) {
  std::size_t at = word.starts_with('-') ? 1 : 0;
  const std::size_t whole = digits_from(word, at);
  if (whole == at || (word[at] == '0' && whole > at + 1)) return false;
  at = whole;
  if (at < word.size() && word[at] == '.') {
    const std::size_t fraction = digits_from(word, at + 1);
    if (fraction == at + 1) return false;
    at = fraction;
  }
  if (at < word.size() && (word[at] == 'e' || word[at] == 'E')) {
    ++at;
    if (at < word.size() && (word[at] == '+' || word[at] == '-')) ++at;
    const std::size_t exponent = digits_from(word, at);
    if (exponent == at) return false;
    at = exponent;
  }
  return at == word.size();
}

}  // namespace cleave
