#include "formats/base/json/cursor.h"

#include "formats/base/io/source_file.h"
#include "formats/base/json/broken_json.h"
#include "tests/catch2.h"

namespace cleave {
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
}  // namespace cleave
