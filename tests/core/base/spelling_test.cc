#include "core/base/spelling.h"

#include "tests/catch2.h"

#include <algorithm>
#include <random>
#include <string>
#include <vector>

namespace cleave {
namespace {

// The whole table of the optimal string alignment distance.
std::size_t plain_distance(const std::string& a, const std::string& b) {
  std::vector<std::vector<std::size_t>> table(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      std::size_t& best = table[i][j];
      if (i == 0 || j == 0) {
        best = i + j;
        continue;
      }
      best = std::min({table[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1), table[i - 1][j] + 1,
                       table[i][j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        best = std::min(best, table[i - 2][j - 2] + 1);
      }
    }
  }
  return table[a.size()][b.size()];
}

std::string random_word(std::mt19937& random, std::size_t most) {
  std::string word(random() % (most + 1), 'a');
  for (char& c : word) c = static_cast<char>('a' + random() % 3);
  return word;
}

TEST_CASE("the distance within a limit equals the unlimited distance") {
  std::mt19937 random(1);
  for (int i = 0; i < 20'000; ++i) {
    const std::string a = random_word(random, 9), b = random_word(random, 9);
    const std::size_t limit = random() % 8;
    INFO(a << " " << b << " " << limit);
    REQUIRE(edit_distance(a, b, limit) == std::min(plain_distance(a, b), limit + 1));
  }
}

TEST_CASE("the nearest name is at most a third of its length away; among equals it is the first") {
  NearestName nearest("sigmoid");
  for (const char* const name : {"", "sigmoid", "relu", "sigmiod", "sigmoidx"}) nearest.offer(name);
  CHECK(nearest.best() == "sigmiod");
  NearestName none("ab");
  none.offer("cd");
  CHECK(none.best().empty());
}

TEST_CASE("names of a megabyte are compared in the time of reading them") {
  const std::string a(1'000'000, 'a');
  CHECK(edit_distance(a, a.substr(2) + "bb", 8) == 2);
  CHECK(edit_distance(a, std::string(1'000'000, 'b'), 8) == 9);
}

}  // namespace
}  // namespace cleave
