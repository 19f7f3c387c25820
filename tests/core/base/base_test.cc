#include <cstdint>
#include <string>
#include <vector>

#include "core/base/base.h"
#include "tests/catch2.h"

namespace cleave {

// ---- byte memo test ----

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

// ---- checked test ----

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

// ---- name table test ----

namespace {

TEST_CASE("names are found by the index they were entered with, whatever their length") {
  std::vector<std::string> names = {""};
  for (std::size_t length = 1; length <= 40; ++length) {
    for (const char last : {'a', 'b'}) names.push_back(std::string(length - 1, 'x') + last);
  }
  for (int i = 0; i < 20000; ++i) names.push_back("layers." + std::to_string(i) + ".conv");
  const auto name_of = [&](std::uint32_t i) { return std::string_view(names[i]); };
  for (NameTable table : {NameTable(), NameTable::dense()}) {
    table.fetch("none is there yet");
    CHECK(table.find("none is there yet", name_of) == NameTable::kAbsent);
    for (std::uint32_t i = 0; i < names.size(); ++i) {
      table.fetch(names[i]);
      CHECK(table.find_or_insert(names[i], i, name_of) == NameTable::kAbsent);
    }
    for (std::uint32_t i = 0; i < names.size(); ++i) {
      CHECK(table.find_or_insert(names[i], 0, name_of) == i);
      CHECK(table.find(names[i], name_of) == i);
    }
  }
}

}  // namespace

}  // namespace cleave
