#include "formats/models/pt2/size_expression.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "tests/catch2.h"

namespace cleave {
namespace {

std::optional<std::int64_t> seven(std::string_view symbol) {
  return symbol == "s77" ? std::optional<std::int64_t>(7) : std::nullopt;
}

TEST_CASE("what is not linear in its symbols is a rounded term") {
  using Terms = std::vector<std::string_view>;
  CHECK(rounded_terms("Symbol('s77', positive=True, integer=True)").empty());
  CHECK(rounded_terms("Add(Mul(Integer(2), Symbol('s77', integer=True)), Integer(1))").empty());
  CHECK(rounded_terms("Pow(Integer(2), Integer(3))").empty());
  CHECK(rounded_terms("Add(FloorDiv(Add(Symbol('s77'), Integer(-1)), Integer(2)), Integer(1))") ==
        Terms{"FloorDiv(Add(Symbol('s77'), Integer(-1)), Integer(2))"});
  CHECK(rounded_terms("FloorDiv(FloorDiv(Symbol('s77'), Integer(2)), Integer(3))") ==
        Terms{"FloorDiv(FloorDiv(Symbol('s77'), Integer(2)), Integer(3))"});
  CHECK(rounded_terms("Mul(Symbol('s77'), Symbol('s77'))") ==
        Terms{"Mul(Symbol('s77'), Symbol('s77'))"});
  CHECK(rounded_terms("Add(Mod(Symbol('a'), Integer(2)), Min(Integer(5), Symbol('a')))") ==
        Terms{"Mod(Symbol('a'), Integer(2))", "Min(Integer(5), Symbol('a'))"});
  for (const std::string_view bad : {"", "Add(", "Add(Symbol('s'", "s77", "Symbol('s') + 1"}) {
    CHECK(rounded_terms(bad) == Terms{bad});
  }
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

// The value of a call with two integers; 1000 is added, so that results below 0 show.
std::optional<std::int64_t> value_of(const std::string& name, std::int64_t a, std::int64_t b) {
  const std::string call =
      name + "(Integer(" + std::to_string(a) + "), Integer(" + std::to_string(b) + "))";
  return read_size_expression("Add( " + call + " , Integer(1000) )", seven).value;
}

TEST_CASE("quotients are rounded down, and remainders have the sign of the divisor, as in Python") {
  for (std::int64_t a = -9; a <= 9; ++a) {
    for (std::int64_t b = -9; b <= 9; ++b) {
      CAPTURE(a, b);
      std::optional<std::int64_t> quotient;
      if (b != 0 && b != -1) {  // a quotient by -1 may overflow
        quotient =
            static_cast<std::int64_t>(std::floor(static_cast<double>(a) / static_cast<double>(b)));
      }
      const auto plus = [](std::optional<std::int64_t> number) {
        return number ? std::optional(*number + 1000) : std::nullopt;
      };
      CHECK(value_of("FloorDiv", a, b) == plus(quotient));
      const auto rest = quotient ? std::optional(a - *quotient * b) : std::nullopt;
      CHECK(value_of("Mod", a, b) == plus(rest));
      CHECK(value_of("PythonMod", a, b) == plus(rest));
      CHECK(value_of("Min", a, b) == std::min(a, b) + 1000);
      CHECK(value_of("Max", a, b) == std::max(a, b) + 1000);
      CHECK(value_of("Mul", a, b) == a * b + 1000);
      CHECK(value_of("Add", a, b) == a + b + 1000);
    }
  }
}

TEST_CASE("powers are numbers up to the exponent 64, where they fit") {
  CHECK(value_of("Pow", 1, 64) == 1001);
  CHECK_FALSE(value_of("Pow", 1, 65));
  CHECK(value_of("Pow", 7, 0) == 1001);
  CHECK_FALSE(value_of("Pow", 2, -1));
  CHECK(value_of("Pow", -2, 3) == 992);
  CHECK(value_of("Pow", 2, 62) == (std::int64_t{1} << 62) + 1000);
  CHECK_FALSE(value_of("Pow", 2, 63));
  CHECK_FALSE(read_size_expression("Pow(Integer(2), Symbol('u0'))", seven).value);
  CHECK_FALSE(read_size_expression("Pow(Symbol('u0'), Integer(2))", seven).value);
}

TEST_CASE("a size may be 0, and a sum keeps its brackets within a product or a quotient alone") {
  const auto text = [](std::string_view expression) {
    const SizeText read = read_size_expression(expression, seven);
    return read.text + " = " + (read.value ? std::to_string(*read.value) : "?");
  };
  CHECK(text("Integer(0)") == "0 = 0");
  CHECK(text("Integer(-1)") == "-1 = ?");
  CHECK(text("FloorDiv(Add(Symbol('s77'), Integer(1)), Add(Integer(1), Integer(2)))") ==
        "(s77 + 1)//(1 + 2) = 2");
  CHECK(text("Add(Mul(Add(Integer(1), Integer(2)), Integer(4)), Integer(5), Integer(6))") ==
        "(1 + 2)*4 + 5 + 6 = 23");
  CHECK(text("Mul(Mul(Integer(1), Integer(2)), Add(Integer(3), Integer(4)))") ==
        "1*2*(3 + 4) = 14");
  CHECK(text("Max(Integer(3), Add(Integer(1), Integer(5)), Integer(4))") == "max(3, 1 + 5, 4) = 6");
  CHECK(text("Min(Integer(3), Symbol('u0'), Integer(1))") == "min(3, u0, 1) = ?");
  for (const std::string_view bad :
       {"Pow(Integer(2))", "Pow(Integer(2), Integer(2), Integer(2))", "Mul()", "Integer(2",
        "Integer(2))", "Integer(2x)", "Integer()", "Symbol('s77'", "Symbol(s77)", "Symbol('s77)",
        "Symbol()x'", "Mul(Integer(2), Integer(3)", "Mul(Integer(2), Integer(3)) 4", "Integer 2",
        "Abs(Integer(2))", "Integer(99999999999999999999)"}) {
    CHECK(text(bad) == std::string(bad) + " = ?");
  }
}

TEST_CASE("expressions are nested up to 100 deep") {
  const auto nested = [](std::size_t depth) {
    std::string text = "Integer(3)";
    for (std::size_t i = 0; i < depth; ++i) text = "Mul(" + text + ")";
    return read_size_expression(text, seven).value;
  };
  CHECK(nested(100) == 3);
  CHECK_FALSE(nested(101));
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
