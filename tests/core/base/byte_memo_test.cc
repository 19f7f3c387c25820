#include "core/base/byte_memo.h"

#include <cstdint>
#include <vector>

#include "tests/catch2.h"

namespace cleave {
namespace {

using Key = std::vector<std::uint8_t>;

TEST_CASE("A memo knows a key until another takes its place, and never mistakes one for another") {
  ByteMemo<int> memo(2);
  int known = 0;
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 1000; ++i) {
      const auto byte = [](int value) { return static_cast<std::uint8_t>(value % 256); };
      int& value = memo.of(Key{byte(i), byte(i / 256)});
      CHECK((value == 0 || value == i + 1));
      known += value != 0 ? 1 : 0;
      value = i + 1;
    }
  }
  CHECK(known > 500);
}

TEST_CASE("A memo for long keys keeps one") {
  ByteMemo<int> memo(std::size_t{1} << 30U);
  memo.of(Key{1}) = 5;
  CHECK(memo.of(Key{1}) == 5);
  CHECK(memo.of(Key{2}) == 0);
  CHECK(memo.of(Key{1}) == 0);
  CHECK(memo.of(Key{}) == 0);
}

}  // namespace
}  // namespace cleave
