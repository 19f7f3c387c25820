#include "core/base/decimal.h"

#include <limits>

#include "tests/catch2.h"

namespace cleave {
namespace {

TEST_CASE("the shortest text of a number reads back as the number") {
  CHECK(shortest_text(0.1) == "0.1");
  CHECK(shortest_text(1e30) == "1e+30");
  CHECK(shortest_text(-2) == "-2");
  CHECK(std::stod(shortest_text(1.0 / 3)) == 1.0 / 3);
}

TEST_CASE("fixed text has the given number of decimals, with ties to even") {
  CHECK(fixed_text(2.25, 1) == "2.2");
  CHECK(fixed_text(2.75, 1) == "2.8");
  CHECK(fixed_text(99, 2) == "99.00");
  CHECK(fixed_text(std::numeric_limits<double>::max(), 60).size() == 309 + 1 + 60);
}

TEST_CASE("rounded text has the given number of digits, without trailing zeros") {
  CHECK(rounded_text(31.508, 3) == "31.5");
  CHECK(rounded_text(100, 3) == "100");
  CHECK(rounded_text(7, 3) == "7");
  CHECK(rounded_text(1234, 3) == "1.23e+03");
}

}  // namespace
}  // namespace cleave
