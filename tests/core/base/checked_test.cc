#include "core/base/checked.h"

#include "tests/catch2.h"

using namespace cleave;

TEST_CASE("a sum or product outside the type is not known") {
  CHECK(checked_sum(2, 3) == 5);
  CHECK(checked_sum(INT64_MAX, 1) == std::nullopt);
  CHECK(checked_sum(INT64_MIN, -1) == std::nullopt);
  CHECK(checked_product(-4, 3) == -12);
  CHECK(checked_product(INT64_MAX, 2) == std::nullopt);
  CHECK(checked_product(INT64_MIN, -1) == std::nullopt);
}
