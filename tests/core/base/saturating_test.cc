#include "core/base/saturating.h"

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
}  // namespace cleave
