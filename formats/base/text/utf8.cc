#include "formats/base/text/utf8.h"

#include <utf8proc.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace cleave {
namespace {

unsigned byte_at(std::string_view text, std::size_t i) {
  return static_cast<unsigned char>(text[i]);
}

// What a first byte implies: the number of bytes, and the range of the second one. It is narrower
// than 80..BF where overlong forms, surrogates or numbers past U+10FFFF would begin.
struct Lead {
  std::size_t length;
  unsigned low, high;
};

Lead lead_of(unsigned byte) {
  if (byte < 0x80) return {1, 0, 0};
  if (byte >= 0xC2 && byte <= 0xDF) return {2, 0x80, 0xBF};
  if (byte == 0xE0) return {3, 0xA0, 0xBF};
  if (byte == 0xED) return {3, 0x80, 0x9F};
  if (byte >= 0xE1 && byte <= 0xEF) return {3, 0x80, 0xBF};
  if (byte == 0xF0) return {4, 0x90, 0xBF};
  if (byte >= 0xF1 && byte <= 0xF3) return {4, 0x80, 0xBF};
  if (byte == 0xF4) return {4, 0x80, 0x8F};
  return {0, 0, 0};
}

template <class Word>
bool is_ascii_at(const char* text) {
  constexpr auto kHighBits = static_cast<Word>(0x8080808080808080U);
  Word word = 0;
  std::memcpy(&word, text, sizeof word);
  return (word & kHighBits) == 0;
}

// The number of bytes at the start that are ASCII; at most 7 too few. Models are almost all ASCII:
// whole words are tested, the last one together with bytes before it that were tested already.
std::size_t ascii_prefix(std::string_view text) {
  constexpr std::size_t kWord = sizeof(std::uint64_t), kHalf = sizeof(std::uint32_t);
  const char* const begin = text.data();
  const std::size_t size = text.size();
  std::size_t at = 0;
  while (size - at >= kWord && is_ascii_at<std::uint64_t>(begin + at)) at += kWord;
  if (size - at >= kWord || at == size) return at;
  if (size >= kWord) return is_ascii_at<std::uint64_t>(begin + size - kWord) ? size : at;
  if (size >= kHalf) {
    const bool is_ascii =
        is_ascii_at<std::uint32_t>(begin) && is_ascii_at<std::uint32_t>(begin + size - kHalf);
    return is_ascii ? size : 0;
  }
  while (at < size && byte_at(text, at) < 0x80) ++at;
  return at;
}

// The number of a character, which must be valid.
utf8proc_int32_t code_of(std::string_view character) {
  utf8proc_int32_t code = 0;
  const auto size = static_cast<utf8proc_ssize_t>(character.size());
  utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(character.data()), size, &code);
  return code;
}

}  // namespace

std::size_t utf8_character(std::string_view text) {
  if (text.empty()) return 0;
  const Lead lead = lead_of(byte_at(text, 0));
  if (lead.length <= 1) return lead.length;
  if (text.size() < lead.length) return 0;
  const unsigned second = byte_at(text, 1);
  if (second < lead.low || second > lead.high) return 0;
  for (std::size_t i = 2; i < lead.length; ++i) {
    if ((byte_at(text, i) & 0xC0U) != 0x80U) return 0;
  }
  return lead.length;
}

std::size_t utf8_columns(std::string_view text) {
  const std::size_t length = utf8_character(text);
  if (length <= 1) return 1;
  const utf8proc_property_t& known = *utf8proc_get_property(code_of(text.substr(0, length)));
  const bool is_mark =
      known.category == UTF8PROC_CATEGORY_MN || known.category == UTF8PROC_CATEGORY_ME;
  return is_mark ? 0 : std::max<std::size_t>(known.charwidth, 1);
}

bool is_hidden(std::string_view character) {
  const unsigned first = byte_at(character, 0);
  if (character.size() == 1) return first < 0x20 || first == 0x7F;
  const utf8proc_int32_t code = code_of(character);
  const utf8proc_property_t& known = *utf8proc_get_property(code);
  switch (known.category) {
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
      return true;
    default:
      return known.ignorable || code == 0xFFFE || code == 0xFFFF;
  }
}

std::size_t first_invalid_utf8(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    at += ascii_prefix(text.substr(at));
    if (at == text.size()) break;
    const std::size_t length = utf8_character(text.substr(at));
    if (length == 0) return at;
    at += length;
  }
  return std::string_view::npos;
}

}  // namespace cleave
