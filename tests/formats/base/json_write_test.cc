#include "formats/base/json.h"

#include <limits>

#include "tests/catch2.h"

namespace cleave {

namespace {

TEST_CASE("strings are written as JSON") {
  CHECK(json_string("conv1") == "\"conv1\"");
  CHECK(json_string("a\"b\\c\n\t\b\f\r") == R"("a\"b\\c\n\t\b\f\r")");
  CHECK(json_string(std::string_view("\x01\x1f\x00", 3)) == R"("\u0001\u001f\u0000")");
  CHECK(json_string("na\u00efve\u20ac") == "\"na\u00efve\u20ac\"");
  CHECK(json_string("a\xff") == R"("a\\xFF")");
}

TEST_CASE("reals keep their value and never look like integers") {
  CHECK(json_real(1) == "1.0");
  CHECK(json_real(-0.5) == "-0.5");
  CHECK(json_real(0.1) == "0.1");
  CHECK(json_real(1e100) == "1e+100");
  CHECK(json_real(std::numeric_limits<double>::infinity()) == "null");
  CHECK(json_real(std::numeric_limits<double>::quiet_NaN()) == "null");
}

TEST_CASE("lists and objects are written on one line") {
  CHECK(json_list({}) == "[]");
  CHECK(json_list({"1", "\"a\""}) == "[1, \"a\"]");
  JsonObjectText object;
  CHECK(object.empty());
  object.add("a", "1");
  object.add("b\"", "[]");
  CHECK(object.text() == R"({"a": 1, "b\"": []})");
}

TEST_CASE("keys that are given with their values are escaped") {
  JsonText json;
  json.begin_object(JsonText::Layout::one_line);
  json.text("a\"b", "c\"d");
  json.number("e\n", 1);
  json.end_object();
  CHECK(std::move(json).finish() == "{\"a\\\"b\": \"c\\\"d\", \"e\\n\": 1}\n");
}

TEST_CASE("text on several lines is put on one, and left as it is otherwise") {
  CHECK(json_on_one_line("{ \"a\":1 }") == "{ \"a\":1 }");
  CHECK(json_on_one_line("{\n  \"a\": [\n    1,\r\n    2\n  ],\n  \"b\" :\n {}\n}") ==
        R"({"a": [1, 2], "b" : {}})");
  CHECK(json_on_one_line("[\"x  y\",\n\"\\\"\",\n 1]") == R"(["x  y", "\"", 1])");
}

}  // namespace

}  // namespace cleave
