#include "formats/base/json/token.h"

#include <cmath>

#include "tests/catch2.h"

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
