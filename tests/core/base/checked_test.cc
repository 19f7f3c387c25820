#include "core/base/checked.h"

#include "tests/catch2.h"

namespace cleave {
namespace {

TEST_CASE("a sum beyond 64 bits is the greatest 64-bit number") {
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  CHECK(saturating_add(2, 3) == 5);
  CHECK(saturating_add(kMost - 1, 1) == kMost);
  CHECK(saturating_add(kMost, 1) == kMost);
  CHECK(saturating_add(kMost / 2 + 1, kMost / 2 + 1) == kMost);
}

}  // namespace

TEST_CASE("a sum or product outside the type is not known") {
  CHECK(checked_sum(2, 3) == 5);
  CHECK(checked_sum(INT64_MAX, 1) == std::nullopt);
  CHECK(checked_sum(INT64_MIN, -1) == std::nullopt);
  CHECK(checked_product(-4, 3) == -12);
  CHECK(checked_product(INT64_MAX, 2) == std::nullopt);
  CHECK(checked_product(INT64_MIN, -1) == std::nullopt);
}

}  // namespace cleave
