#include "formats/models/pt2/size_expression.h"

#include "tests/catch2.h"

namespace cleave {
namespace {

std::optional<std::int64_t> seven(std::string_view symbol) {
  return symbol == "s77" ? std::optional<std::int64_t>(7) : std::nullopt;
}

TEST_CASE("size expressions become readable text, and numbers if all symbols are known") {
  struct Case {
    std::string_view expression, text;
    std::int64_t value;  // -1: none
  };
  const Case cases[] = {
      {"Symbol('s77', positive=True, integer=True)", "s77", 7},
      {"Symbol('u0', integer=True)", "u0", -1},
      {"Mul(Integer(2), Symbol('s77', positive=True, integer=True))", "2*s77", 14},
      {"Add(Symbol('s77', integer=True), Integer(-3))", "s77 + -3", 4},
      {"Add(Symbol('s77', integer=True), Integer(-9))", "s77 + -9", -1},
      {"Mul(Integer(2), Add(Symbol('s77', integer=True), Integer(1)))", "2*(s77 + 1)", 16},
      {"Pow(Symbol('s77', integer=True), Integer(2))", "s77^2", 49},
      {"FloorDiv(Symbol('s77', integer=True), Integer(2))", "s77//2", 3},
      {"FloorDiv(Symbol('s77', integer=True), Integer(0))", "s77//0", -1},
      {"Mod(Symbol('s77', integer=True), Integer(4))", "s77%4", 3},
      {"Min(Integer(5), Symbol('s77', integer=True))", "min(5, s77)", 5},
      {"Max(Integer(5), Symbol('u0', integer=True))", "max(5, u0)", -1},
      {"ToFloat(Symbol('s77', integer=True))", "ToFloat(Symbol('s77', integer=True))", -1},
      {"Mul(Integer(9223372036854775807), Symbol('s77'))", "9223372036854775807*s77", -1},
      {"Mul(", "Mul(", -1},
      {"", "", -1},
  };
  for (const Case& one : cases) {
    INFO(one.expression);
    const SizeText read = read_size_expression(one.expression, seven);
    CHECK(read.text == one.text);
    CHECK(read.value.value_or(-1) == one.value);
  }
}

TEST_CASE("an expression that is nested too deep is left unchanged") {
  std::string deep;
  for (int i = 0; i < 100000; ++i) deep += "Mul(";
  CHECK(read_size_expression(deep, seven).text == deep);
}

TEST_CASE("symbols are found in a text of any form") {
  const auto symbols = symbols_in("{\"expr_str\": \"Add(Symbol('s1', x), Symbol('u0'))\"}");
  REQUIRE(symbols.size() == 2);
  CHECK(symbols[0] == "s1");
  CHECK(symbols[1] == "u0");
}

}  // namespace
}  // namespace cleave
