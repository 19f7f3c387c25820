#include "formats/base/text/utf8.h"

#include <cstdint>
#include <random>
#include <set>
#include <string>

#include "tests/catch2.h"
#include "tests/formats/base/text/utf8_encoding.h"

namespace cleave {
namespace {

// Character by character, without looking at words.
std::size_t first_invalid_slowly(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = utf8_character(text.substr(at));
    if (length == 0) return at;
    at += length;
  }
  return std::string_view::npos;
}

TEST_CASE("a character of UTF-8 has one to four bytes, and only its shortest form is valid") {
  CHECK(utf8_character("a") == 1);
  CHECK(utf8_character("\xC3\xA9x") == 2);
  CHECK(utf8_character("\xE2\x82\xACx") == 3);
  CHECK(utf8_character("\xF0\x9F\x98\x80x") == 4);
  for (const std::string_view bad : {"", "\x80", "\xC0\xAF", "\xC3", "\xE0\x80\xAF", "\xED\xA0\x80",
                                     "\xF0\x80\x80\xAF", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80"}) {
    CHECK(utf8_character(bad) == 0);
  }
}

// By the definition: the number of a character, encoded again, gives the same bytes.
TEST_CASE("valid characters are those of Unicode, and no others") {
  std::set<std::string> valid;
  for (std::uint32_t code = 0; code <= 0x10FFFF; ++code) {
    if (code >= 0xD800 && code <= 0xDFFF) continue;  // halves of UTF-16
    // The bytes after the second one are all alike: two of each are enough.
    const std::uint32_t low = code & 0x3FU;
    if (code >= 0x800 && low != 0 && low != 0x3F) continue;
    valid.insert(utf8_of(code));
  }
  for (const std::string& character : valid) {
    if (utf8_character(character) != character.size()) FAIL(character.size());
  }
  for (unsigned first = 0; first < 256; ++first) {
    for (unsigned second = 0; second < 256; ++second) {
      for (std::size_t length = 1; length <= 4; ++length) {
        std::string text = {static_cast<char>(first), static_cast<char>(second), '\x80', '\x80'};
        text.resize(length);
        if ((utf8_character(text) == length) != valid.contains(text)) FAIL(first << ' ' << second);
      }
    }
  }
}

TEST_CASE("the first byte that is not UTF-8 is found at every place of texts of every size") {
  for (std::size_t size = 1; size <= 40; ++size) {
    CHECK(first_invalid_utf8(std::string(size, 'a')) == std::string_view::npos);
    for (std::size_t at = 0; at < size; ++at) {
      std::string text(size, 'a');
      text[at] = '\xFF';
      CHECK(first_invalid_utf8(text) == at);
    }
  }
}

TEST_CASE("words and single characters give the same answer on random texts") {
  std::mt19937 random(1);
  const std::string_view pieces[] = {"a",    "name", "\xC3\xA9",     "\xE2\x82\xAC",
                                     "\xFF", "\xC3", "conv1.weight", "\xF0\x9F\x98\x80"};
  for (int round = 0; round < 20'000; ++round) {
    std::string text;
    for (unsigned count = random() % 8; count > 0; --count) text += pieces[random() % 8];
    INFO(text);
    CHECK(first_invalid_utf8(text) == first_invalid_slowly(text));
  }
}

}  // namespace
}  // namespace cleave
