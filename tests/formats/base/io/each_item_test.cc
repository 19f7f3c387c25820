#include "formats/base/io/each_item.h"

#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <vector>

#include "tests/catch2.h"

using namespace cleave;

TEST_CASE("each item is done once, whatever the number of items") {
  for (const std::size_t count : {0U, 1U, 3U, 4U, 5U, 1000U}) {
    std::vector<std::atomic<int>> times(count);
    const std::size_t stopped = do_each(count, [&](std::size_t i) {
      ++times[i];
      return true;
    });
    CHECK(stopped == count);
    CHECK(std::all_of(times.begin(), times.end(), [](const auto& n) { return n == 1; }));
  }
}

TEST_CASE("the lowest item that stops the work is returned, and all before it are done") {
  for (int round = 0; round < 50; ++round) {
    std::vector<std::atomic<bool>> is_done(500);
    const std::size_t stopped = do_each(is_done.size(), [&](std::size_t i) {
      is_done[i] = true;
      return i % 100 != 99;
    });
    CHECK(stopped == 99);
    CHECK(std::all_of(is_done.begin(), is_done.begin() + 100,
                      [](const auto& done) -> bool { return done; }));
    CHECK_FALSE(is_done.back());
  }
}

TEST_CASE("the exception of the lowest item is thrown") {
  const auto work = [](std::size_t i) -> bool {
    if (i == 40) throw std::runtime_error("forty");
    if (i >= 41) throw std::runtime_error("later");
    return true;
  };
  CHECK_THROWS_WITH(do_each(400, work), "forty");
  CHECK_THROWS_AS(do_each(1, [](std::size_t) -> bool { throw std::logic_error("one"); }),
                  std::logic_error);
}
