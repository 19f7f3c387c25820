#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <regex>
#include <string>
#include <vector>

#include "core/base/base.h"
#include "formats/base/files.h"
#include "formats/base/json.h"
#include "tests/catch2.h"
#include "tests/formats/base/utf8_encoding.h"

namespace cleave {

// ---- cursor test ----

namespace {

// What the cursor finds in a text, in order.
class Walk {
 public:
  explicit Walk(std::string_view text)
      : source_(SourceFile::from_text("t", text)), cursor_(source_.bytes()) {}

  std::string run() {
    value();
    cursor_.expect_end();
    if (!cursor_.fault()) return seen_;
    return std::to_string(cursor_.fault()->offset) + ": " + cursor_.fault()->message;
  }

 private:
  void value() {
    switch (cursor_.type()) {
      case JsonType::object:
        seen_ += '{';
        cursor_.enter();
        while (const auto key = cursor_.next_key()) {
          seen_ += unescaped(*key) + ':';
          value();
        }
        seen_ += '}';
        return;
      case JsonType::list:
        seen_ += '[';
        cursor_.enter();
        while (cursor_.next_item()) value();
        seen_ += ']';
        return;
      case JsonType::string:
        seen_ += '\'' + unescaped(cursor_.take_string()) + "' ";
        return;
      case JsonType::number:
        seen_ += std::string(cursor_.take_number().text) + ' ';
        return;
      case JsonType::boolean:
        seen_ += cursor_.take_boolean() ? "true " : "false ";
        return;
      case JsonType::null:
        cursor_.take_null();
        seen_ += "null ";
        return;
      case JsonType::none:
        return;
    }
  }

  SourceFile source_;
  JsonCursor cursor_;
  std::string seen_;
};

std::string walk(std::string_view text) { return Walk(text).run(); }

std::string skip(std::string_view text) {
  const SourceFile source = SourceFile::from_text("t", text);
  JsonCursor cursor(source.bytes());
  cursor.skip();
  cursor.expect_end();
  return cursor.fault() ? std::to_string(cursor.fault()->offset) + ": " + cursor.fault()->message
                        : "fine";
}

TEST_CASE("the cursor meets every token in order") {
  CHECK(walk(R"( {"a" : [1, -2.5e+3,{}], "b":"x" ,"c":[] , "d": [true,false,null]} )") ==
        "{a:[1 -2.5e+3 {}]b:'x' c:[]d:[true false null ]}");
  CHECK(walk("17") == "17 ");
  CHECK(walk("\"s\"") == "'s' ");
  CHECK(walk("\xEF\xBB\xBF{}") == "{}");
}

TEST_CASE("escapes become the characters that they mean") {
  CHECK(walk(R"("\"\\\/\b\f\n\r\t")") == "'\"\\/\b\f\n\r\t' ");
  CHECK(walk(R"("\u0041\u00e9\u20AC\uD83D\uDE00")") == "'A\u00e9\u20AC\U0001F600' ");
  CHECK(walk(R"({"na\u006de":1})") == "{name:1 }");
  CHECK(walk(R"("a\u0000b")") == std::string("'a\0b' ", 6));
}

TEST_CASE("invalid escapes are refused at their position") {
  CHECK(walk(R"("ab\qc")") == "3: \"\\q\" is not a valid escape");
  CHECK(walk(R"("\u12G4")") == "1: \"\\u12G4\" is not a valid escape");
  CHECK(walk(R"("\u12")") == "1: \"\\u12\" is not a valid escape");
  CHECK(walk(R"("\uD800")") == "1: \"\\uD800\" is not a valid escape");
  CHECK(walk(R"("\uD800\u0041")") == "1: \"\\uD800\" is not a valid escape");
  CHECK(walk(R"("\uDC00")") == "1: \"\\uDC00\" is not a valid escape");
  CHECK(walk(R"({"\q":1})") == "2: \"\\q\" is not a valid escape");
}

TEST_CASE("text that is not JSON is refused at its position, also when it is skipped") {
  const std::vector<std::pair<std::string, std::string>> refused = {
      {"{\"a\" 1}", "5: expected ':', found \"1\""},
      {"{\"a\":1 \"b\":2}", "7: expected ',' or '}', found \"\"b\"\""},
      {"{\"a\":1,}", "7: expected a key in quotes, found \"}\""},
      {"{,}", "1: expected a key in quotes, found \",\""},
      {"{a:1}", "1: expected a key in quotes, found \"a\""},
      {"[1 2]", "3: expected ',' or ']', found \"2\""},
      {"[1,]", "3: expected a value, found \"]\""},
      {"[1}", "2: expected ',' or ']', found \"}\""},
      {"{\"a\":1]", "6: expected ',' or '}', found \"]\""},
      {"[tru]", "1: expected true or false, found \"tru\""},
      {"[truex]", "1: expected true or false, found \"truex\""},
      {"[nul]", "1: expected null, found \"nul\""},
      {"[01]", "1: \"01\" is not a number as JSON writes it"},
      {"[1.]", "1: \"1.\" is not a number as JSON writes it"},
      {"[.5]", "1: expected a value, found \".5\""},
      {"[1e]", "1: \"1e\" is not a number as JSON writes it"},
      {"[-]", "1: \"-\" is not a number as JSON writes it"},
      {"[+1]", "1: expected a value, found \"+1\""},
      {"[1\"a\"]", "1: \"1\"a\"\" is not a number as JSON writes it"},
      {"[\"a\"b]", "4: expected ',' or ']', found \"b\""},
      {"[NaN]",
       "1: expected a value, found \"NaN\"; JSON has no such number: write null or a string"},
      {"[-Infinity]",
       "1: \"-Infinity\" is not a number as JSON writes it; JSON has no such number: write null or "
       "a string"},
      {"['a']", "1: expected a value, found \"'a'\""},
      {"{} {}", "3: expected the end of the file, found \"{\""},
      {"{}]", "2: expected the end of the file, found \"]\""},
      {"{}x", "2: expected the end of the file, found \"x\""},
      {"[1, /* c */ 2]", "4: expected a value, found \"/*\""},
      {"]", "0: expected a value, found \"]\""},
      {" \n ", "0: contains only white space"},
      {"", "0: contains only white space"}};
  for (const auto& [text, message] : refused) {
    CAPTURE(text);
    CHECK(walk(text) == message);
    CHECK(skip(text) == message);
  }
}

TEST_CASE("a text cut off anywhere is refused") {
  const std::string text = R"({"a": [1, {"b": "c"}, true], "d": null})";
  for (std::size_t length = 0; length < text.size(); ++length) {
    CAPTURE(length);
    CHECK(skip(text.substr(0, length)) != "fine");
  }
  CHECK(skip(text) == "fine");
  CHECK(skip(text.substr(0, 20)) == "20: the text ends too early: expected ',' or ']'");
  CHECK(skip(text.substr(0, 18)) == "16: this quote is never closed; is the file complete?");
  const SourceFile source = SourceFile::from_text("t", text.substr(0, 20));
  JsonCursor cursor(source.bytes());
  cursor.skip();
  CHECK(cursor.fault()->opened_at == 6);
}

TEST_CASE("control characters and missing quotes are found at their position") {
  CHECK(walk("[\"a\tb\"]") == "3: a control character inside quotes; write it as \\u00XX");
  CHECK(walk("{\"a: 1,\n\"b\": 2}") ==
        "7: the line ends inside quotes; a closing quote is missing");
}

TEST_CASE("bytes that are not UTF-8 are refused and their holder is named") {
  CHECK(walk("{\"nodes\": [{}, {\"name\": \"a\xFF z\"}]}") ==
        "26: nodes[1] holds text that is not UTF-8: \"a\\xFF z\"");
  CHECK(walk("{\"name\": \"\xC3\x28\"}") ==
        "10: the graph holds text that is not UTF-8: \"\\xC3(\"");
}

TEST_CASE("the holder of a byte is the item of a list of the outermost object") {
  const std::string text = R"({"a": "x", "n": [[1, 2], {"k": [3, 4]}, "]"], "z": 5})";
  CHECK(json_holder_of(text, text.find('1')) == "n[0]");
  CHECK(json_holder_of(text, text.find('4')) == "n[1]");
  CHECK(json_holder_of(text, text.find("\"]\"")) == "n[2]");
  CHECK(json_holder_of(text, text.find('5')) == "the graph");
}

TEST_CASE("nesting is limited") {
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  CHECK(skip(nested(1000)) == "fine");
  CHECK(skip(nested(1001)) == "1000: nested more than 1000 deep");
  CHECK(skip(nested(1000000)) == "1000: nested more than 1000 deep");
}

// Tokens are found a piece of the text at a time; a piece is some hundred thousand bytes.
constexpr std::size_t kManyPieces = 700'000;

// Items up to that length; the text, and what a walk must find in it.
struct LongText {
  std::string text = "[", seen = "[";

  void fill(std::string_view item, std::string_view item_seen) {
    while (text.size() < kManyPieces) add(item, item_seen);
  }
  void add(std::string_view item, std::string_view item_seen) {
    if (text.size() > 1) text += ", ";
    text += item;
    seen += item_seen;
  }
  void end() {
    text += ']';
    seen += ']';
  }
};

TEST_CASE("a long text is walked like a short one, whatever is at the end of a piece") {
  const std::vector<std::pair<std::string, std::string>> items = {
      {R"({"a": [1, {}], "b": "c"})", "{a:[1 {}]b:'c' }"},
      {R"("}")", "'}' "},
      {R"({"}{": "},{", "\"}": "\\"})", R"({}{:'},{' "}:'\' })"},
      {"true", "true "},
      {"[[1, 2], \n\n [3]]", "[[1 2 ][3 ]]"}};
  for (const auto& [item, seen] : items) {
    CAPTURE(item);
    LongText all;
    all.fill(item, seen);
    all.end();
    CHECK((walk(all.text) == all.seen));  // in brackets, so that a failure does not print it
    CHECK(skip(all.text) == "fine");
  }
}

TEST_CASE("a string longer than a piece is one token; white space is none") {
  const std::string braces(kManyPieces, '}');
  LongText all;
  all.add("{}", "{}");
  all.add('"' + braces + '"', '\'' + braces + "' ");
  all.text += std::string(kManyPieces, ' ');
  all.add("{}", "{}");
  all.end();
  CHECK((walk(all.text) == all.seen));
  const std::string blank(kManyPieces, '\n');
  CHECK(walk(blank + "{}" + blank) == "{}");
  CHECK(walk(blank) == "0: contains only white space");
}

TEST_CASE("a fault far into a long text is refused at its position") {
  LongText all;
  all.fill(R"({"a": "\\"})", "");
  const std::string at = std::to_string(all.text.size());
  CHECK(walk(all.text + " }") ==
        std::to_string(all.text.size() + 1) + ": expected ',' or ']', found \"}\"");
  CHECK(walk(all.text + ", {\"a\": \"") ==
        std::to_string(all.text.size() + 8) +
            ": this quote is never closed; is the file complete?");
  CHECK(walk(all.text) == at + ": the text ends too early: expected ',' or ']'");
  CHECK(walk(all.text + ", \"\\q\", {}]") ==
        std::to_string(all.text.size() + 3) + ": \"\\q\" is not a valid escape");
  CHECK(walk(all.text + ", {\"a\": \"\xFF\"}]") ==
        std::to_string(all.text.size() + 9) +
            ": the graph holds text that is not UTF-8: \"\\xFF\"");
  CHECK(skip(all.text + ", {\"a\": \"\x01\"}]") ==
        std::to_string(all.text.size() + 9) +
            ": a control character inside quotes; write it as \\u00XX");
}

TEST_CASE("numbers are read as written") {
  CHECK(JsonNumber{"-9223372036854775808"}.integer() == INT64_MIN);
  CHECK(!JsonNumber{"9223372036854775808"}.integer());
  CHECK(JsonNumber{"9223372036854775808"}.is_whole());
  CHECK(JsonNumber{"9223372036854775808"}.real() == 9223372036854775808.0);
  CHECK(!JsonNumber{"1.0"}.integer());
  CHECK(!JsonNumber{"1e3"}.integer());
  CHECK(JsonNumber{"1e3"}.real() == 1000.0);
  CHECK(JsonNumber{"-1e999"}.real() == -HUGE_VAL);
  CHECK(JsonNumber{"1e-999"}.real() == 0.0);
}

}  // namespace

// ---- token test ----

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

// ---- tokens test ----
//
// JsonTokens calls the first stage of simdjson itself, which is no public interface: what it is relied
// on for is pinned here, for each version that is built with.

namespace {

using Offsets = std::vector<std::uint32_t>;

// The offsets of all tokens, or the fault.
Result<Offsets, JsonFault> tokens_of(const std::string& text) {
  std::string padded = text;
  padded.append(JsonCursor::kPadding, '\0');
  JsonTokens tokens(std::string_view(padded).substr(0, text.size()));
  Offsets found;
  while (!tokens.is_at_end()) {
    if (auto fault = tokens.read_piece(found)) return *std::move(fault);
  }
  return found;
}

TEST_CASE("tokens begin at brackets, commas, colons, strings, and other words") {
  CHECK(*tokens_of(R"({"a\"b": [1.5e3, true,null], "c":""})") ==
        Offsets{0, 1, 7, 9, 10, 15, 17, 21, 22, 26, 27, 29, 32, 33, 35});
  CHECK(*tokens_of(" \t\r\n7 ") == Offsets{4});
  CHECK(*tokens_of("nonsense") == Offsets{0});
}

TEST_CASE("texts that are read in pieces have the tokens of the whole") {
  std::string text = "[";
  Offsets wanted = {0};
  const std::string item = R"({"}": "\\"})";
  for (int i = 0; i < 50'000; ++i) {
    const auto at = static_cast<std::uint32_t>(text.size());
    for (const std::uint32_t offset : {0U, 1U, 4U, 6U, 10U}) wanted.push_back(at + offset);
    text += item;
    wanted.push_back(static_cast<std::uint32_t>(text.size()));
    text += i == 49'999 ? ']' : ',';
  }
  const auto found = tokens_of(text);
  REQUIRE(found);
  CHECK(*found == wanted);
}

TEST_CASE("what the first stage refuses is told with its place") {
  CHECK(tokens_of("  ").error().message == "contains only white space");
  CHECK(tokens_of("").error().message == "contains only white space");
  CHECK(tokens_of("[\"a]").error().offset == 1);
  CHECK(tokens_of("[\"a\x01\"]").error().offset == 3);
  CHECK(tokens_of("[\"a\nb\"]").error().message ==
        "the line ends inside quotes; a closing quote is missing");
  CHECK(tokens_of("[\"\xC3(\"]").error().offset == 2);
}

}  // namespace

}  // namespace cleave
