#include "formats/base/json/token.h"

#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <regex>
#include <string>
#include <vector>

#include "tests/catch2.h"
#include "tests/formats/base/text/utf8_encoding.h"

namespace cleave {
namespace {

TEST_CASE("escapes become the characters that they mean, in UTF-8") {
  const auto characters = [](std::string_view text) {
    return unescaped({.text = text, .has_escapes = true});
  };
  CHECK(characters(R"(a\"b\\c\/d)") == "a\"b\\c/d");
  CHECK(characters(R"(\b\f\n\r\t)") == "\b\f\n\r\t");
  CHECK(characters(R"(\u0041)") == "A");
  CHECK(characters(R"(\u00e4)") == "\xc3\xa4");                // 2 bytes
  CHECK(characters(R"(\u20ac)") == "\xe2\x82\xac");            // 3 bytes
  CHECK(characters(R"(\ud83d\ude00)") == "\xf0\x9f\x98\x80");  // a surrogate pair, 4 bytes
  CHECK(characters(R"(\ud800\udc00)") == "\xf0\x90\x80\x80");  // the first pair
  CHECK(characters(R"(\udbff\udfff)") == "\xf4\x8f\xbf\xbf");  // the last pair
}

TEST_CASE("the first invalid escape is found where it begins") {
  CHECK_FALSE(find_bad_escape(R"(plain \n \u0041)"));
  const auto at = [](std::string_view text) { return find_bad_escape(text).value().at; };
  CHECK(at(R"(ab\x)") == 2);
  CHECK(at(R"(\n\u12)") == 2);        // too short
  CHECK(at(R"(\u12g4)") == 0);        // no digit
  CHECK(at(R"(\udc00)") == 0);        // the second half of a pair by itself
  CHECK(at(R"(\ud800x)") == 0);       // the first half by itself
  CHECK(at(R"(\ud800\u0041)") == 0);  // followed by no second half
}

std::string unit_escape(std::uint32_t unit, const char* form) {
  std::array<char, 8> text = {};
  std::snprintf(text.data(), text.size(), form, unit);
  return text.data();
}

TEST_CASE("every character can be escaped by its number, and no half of one") {
  std::size_t wrong = 0;
  for (std::uint32_t code = 0; code <= 0x10FFFF; code += code < 0x900 ? 1 : 31) {
    for (const char* const form : {"\\u%04x", "\\u%04X"}) {
      const std::string text = code < 0x10000
                                   ? unit_escape(code, form)
                                   : unit_escape(0xD800 + ((code - 0x10000) >> 10U), form) +
                                         unit_escape(0xDC00 + ((code - 0x10000) & 0x3FFU), form);
      if (code >= 0xD800 && code <= 0xDFFF) {
        wrong += find_bad_escape(text) ? 0U : 1U;
      } else {
        const bool is_right = !find_bad_escape(text) &&
                              unescaped({.text = text, .has_escapes = true}) == utf8_of(code);
        wrong += is_right ? 0U : 1U;
      }
    }
  }
  CHECK(wrong == 0);
  for (const std::uint32_t unit : {0xD7FFU, 0xE000U, 0xFFFFU}) {
    CHECK_FALSE(find_bad_escape(unit_escape(unit, "\\u%04x")));
  }
  for (const std::uint32_t first : {0xD800U, 0xDBFFU}) {
    for (const std::uint32_t second : {0xDBFFU, 0xE000U, 0xD800U}) {
      CHECK(find_bad_escape(unit_escape(first, "\\u%04x") + unit_escape(second, "\\u%04x")));
    }
    for (const std::uint32_t second : {0xDC00U, 0xDFFFU}) {
      const std::string pair = unit_escape(first, "\\u%04x") + unit_escape(second, "\\u%04x");
      CHECK_FALSE(find_bad_escape(pair));
      CHECK(find_bad_escape(pair.substr(0, 11)));
      CHECK(find_bad_escape(pair.substr(0, 6)));
    }
  }
  CHECK(find_bad_escape("\\u").value().shown == "\\u");
  CHECK(find_bad_escape("a\\").value().shown == "\\");
  CHECK(find_bad_escape("\\u12345x\\u12x4y").value().shown == "\\u12x4");
  CHECK(find_bad_escape("\\qrs").value().shown == "\\q");
}

TEST_CASE("the words of JSON's grammar are its numbers, of all words of up to five characters") {
  const std::regex grammar("-?(0|[1-9][0-9]*)(\\.[0-9]+)?([eE][+-]?[0-9]+)?");
  constexpr std::string_view kCharacters = "-+.e0197";
  std::vector<std::string> words = {""};
  std::size_t wrong = 0;
  for (std::size_t at = 0; at < words.size(); ++at) {
    const std::string word = words[at];
    wrong += is_json_number(word) == std::regex_match(word, grammar) ? 0U : 1U;
    if (word.size() == 5) continue;
    for (const char c : kCharacters) words.push_back(word + c);
  }
  CHECK(wrong == 0);
  CHECK(is_json_number("1E5"));
  CHECK_FALSE(is_json_number("1/"));
  CHECK_FALSE(is_json_number("1:"));
}

TEST_CASE("only JSON's numbers are accepted") {
  for (const char* const word : {"0", "-0", "12", "-3.25", "1e5", "1E-5", "0.5e+10"}) {
    INFO(word);
    CHECK(is_json_number(word));
  }
  for (const char* const word :
       {"", "-", "01", "+1", ".5", "1.", "1e", "1e+", "0x1", "nan", "1 "}) {
    INFO(word);
    CHECK_FALSE(is_json_number(word));
  }
}

TEST_CASE("a number is an integer if it is written as one and fits 64 bits") {
  CHECK(JsonNumber{"-9223372036854775808"}.integer() == INT64_MIN);
  CHECK(JsonNumber{"9223372036854775807"}.integer() == INT64_MAX);
  CHECK_FALSE(JsonNumber{"9223372036854775808"}.integer());
  CHECK(JsonNumber{"9223372036854775808"}.is_whole());
  CHECK_FALSE(JsonNumber{"1.0"}.integer());
  CHECK_FALSE(JsonNumber{"1.0"}.is_whole());
  CHECK(JsonNumber{"2.5"}.real() == 2.5);
  CHECK(std::isinf(JsonNumber{"1e999"}.real()));
}

}  // namespace
}  // namespace cleave
