#include <algorithm>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "core/base/words.h"
#include "tests/catch2.h"

namespace cleave {

// ---- capped list test ----

namespace {

const auto kSame = [](const std::string& item) { return item; };

// How many of `count` items a list of at most `most` shows, and what it says of the rest.
std::string shown(std::size_t most, std::size_t count) {
  CappedList list(most);
  std::size_t shown = 0;
  for (std::size_t i = 0; i < count; ++i) shown += list.shows_next() ? 1U : 0U;
  CHECK(shown == list.shown());
  CHECK(list.shown() + list.left_out() == count);
  return std::to_string(shown) + list.rest(" and # more");
}

TEST_CASE("a list shows as many items as its limit, and counts the others") {
  CHECK(shown(3, 0) == "0");
  CHECK(shown(3, 2) == "2");
  CHECK(shown(3, 3) == "3");
  CHECK(shown(3, 4) == "3 and 1 more");
  CHECK(shown(3, 2003) == "3 and 2,000 more");
  CHECK(shown(0, 0) == "0");
  CHECK(shown(0, 1) == "0 and 1 more");
}

TEST_CASE("the text on the rest knows one item from several") {
  CappedList list(1);
  list.shows_next();
  CHECK(list.rest("# cause", "# causes").empty());
  list.shows_next();
  CHECK(list.rest("# cause", "# causes") == "1 cause");
  list.shows_next();
  CHECK(list.rest("# cause", "# causes") == "2 causes");
  CHECK(list.rest(", ...") == ", ...");
}

TEST_CASE("items that are not at hand are left out, however many are shown") {
  CappedList list(2);
  list.leave_out(3);
  CHECK(list.shows_next());
  CHECK(list.shows_next());
  CHECK_FALSE(list.shows_next());
  CHECK(list.shown() == 2);
  CHECK(list.left_out() == 4);
}

TEST_CASE("a text names the first items and counts the others") {
  const std::vector<std::string> names = {"a", "b", "c"};
  CHECK(capped_list(std::vector<std::string>(), 2, kSame).empty());
  CHECK(capped_list(names, 3, kSame) == "a, b, c");
  CHECK(capped_list(names, 2, kSame) == "a, b and 1 more");
  CHECK(capped_list(names, 1, kSame, ", ...") == "a, ...");
  CHECK(capped_list(names, 2, kSame, " -> ...", " -> ") == "a -> b -> ...");
  CHECK(capped_list(std::vector<std::string>{"", "", "c"}, 2, kSame, ", ...") == ", , ...");
}

TEST_CASE("texts are made for items that are shown, not for all") {
  std::size_t made = 0;
  const auto count = [&](const std::string& item) {
    ++made;
    return item;
  };
  const std::vector<std::string> names(1000, "name");
  CHECK(capped_list(names, 2, count) == "name, name and 998 more");
  CHECK(made == 2);
}

}  // namespace

// ---- decimal test ----

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

// ---- number text test ----

using namespace cleave;

TEST_CASE("counts have their thousands separated") {
  CHECK(count_text(0) == "0");
  CHECK(count_text(999) == "999");
  CHECK(count_text(1000) == "1,000");
  CHECK(count_text(1234567) == "1,234,567");
  CHECK(count_text(std::numeric_limits<std::uint64_t>::max()) == "18,446,744,073,709,551,615");
}

TEST_CASE("bytes have three digits and a binary unit") {
  CHECK(bytes_text(0) == "0 B");
  CHECK(bytes_text(1023) == "1023 B");
  CHECK(bytes_text(1024) == "1 KiB");
  CHECK(bytes_text(1536) == "1.5 KiB");
  CHECK(bytes_text(602112) == "588 KiB");
  CHECK(bytes_text(9633792) == "9.19 MiB");
  CHECK(bytes_text(1048575) == "1 MiB");
  CHECK(bytes_text(std::numeric_limits<std::uint64_t>::max()) == "16 EiB");
}

TEST_CASE("FLOPs have three digits and a decimal unit") {
  CHECK(flops_text(0) == "0 FLOP");
  CHECK(flops_text(64) == "64 FLOP");
  CHECK(flops_text(3.628e9) == "3.63 GFLOP");
  CHECK(flops_text(999.9e6) == "1 GFLOP");
  CHECK(flops_text(5e20) == "500 EFLOP");
}

TEST_CASE("FLOPs that are not a number are shown as a question mark") {
  CHECK(flops_text(-1) == "? FLOP");
  CHECK(flops_text(std::numeric_limits<double>::infinity()) == "? FLOP");
  CHECK(flops_text(std::numeric_limits<double>::quiet_NaN()) == "? FLOP");
}

TEST_CASE("FLOPs, energy and times are shown up to the most that has a unit") {
  CHECK(flops_text(9.99e23) == "999000 EFLOP");
  CHECK(flops_text(1e24) == "? FLOP");
  CHECK(joules_text(9.99e23).ends_with(" J"));
  CHECK(joules_text(9.99e23) != "? J");
  CHECK(joules_text(1e24) == "? J");
  CHECK(duration_text(9.99e23) == "999000000000000000 s");
  CHECK(duration_text(1e24) == "? s");
}

TEST_CASE("energy has three digits and a decimal unit, from picojoules on") {
  CHECK(joules_text(0) == "0 pJ");
  CHECK(joules_text(1e-9) == "1 pJ");
  CHECK(joules_text(1e-6) == "1 nJ");
  CHECK(joules_text(0.045) == "45 uJ");
  CHECK(joules_text(3.2) == "3.2 mJ");
  CHECK(joules_text(12345) == "12.3 J");
  CHECK(joules_text(-1e-9) == "? J");
  CHECK(joules_text(std::numeric_limits<double>::infinity()) == "? J");
  CHECK(joules_text(std::numeric_limits<double>::quiet_NaN()) == "? J");
}

TEST_CASE("times have three digits and a unit, from nanoseconds on") {
  CHECK(duration_text(0) == "0 ns");
  CHECK(duration_text(0.001) == "1 ns");
  CHECK(duration_text(450) == "450 us");
  CHECK(duration_text(999.4) == "999 us");
  CHECK(duration_text(999.5) == "1 ms");
  CHECK(duration_text(12300) == "12.3 ms");
  CHECK(duration_text(2.1e6) == "2.1 s");
  CHECK(duration_text(-1) == "? s");
  CHECK(duration_text(std::numeric_limits<double>::quiet_NaN()) == "? s");
}

TEST_CASE("only one is counted as one") {
  CHECK(counted(0, "node") == "0 nodes");
  CHECK(counted(1, "node") == "1 node");
  CHECK(counted(1024, "node") == "1,024 nodes");
  CHECK(counted(0, "is", "are") == "0 are");
  CHECK(counted(1, "is", "are") == "1 is");
  CHECK(counted(2, "is", "are") == "2 are");
}

TEST_CASE("a share is 0% or 100% only if it is nothing or all") {
  CHECK(percent_text(0) == "0%");
  CHECK(percent_text(1e-9) == "<0.1%");
  CHECK(percent_text(0.000999) == "<0.1%");
  CHECK(percent_text(0.001) == "0.1%");
  CHECK(percent_text(0.871) == "87.1%");
  CHECK(percent_text(0.25) == "25%");
  CHECK(percent_text(0.9999999) == "99.9%");
  CHECK(percent_text(1) == "100%");
  CHECK(percent_text(1.5) == "150%");
}

TEST_CASE("rates have three digits, from a hundred on they are whole") {
  CHECK(rate_text(7.254) == "7.25");
  CHECK(rate_text(99.96) == "100");
  CHECK(rate_text(100) == "100");
  CHECK(rate_text(100.4) == "100");
  CHECK(rate_text(35000.4) == "35,000");
  CHECK(rate_text(1234567.8) == "1,234,568");
  CHECK(rate_text(9.99e14) == "999,000,000,000,000");
  CHECK(rate_text(1e15).find(',') == std::string::npos);
}

namespace cleave {

// ---- spelling test ----

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
  NearestName other_case("GELU");
  for (const char* const name : {"ELU", "Gelu", "GEMM"}) other_case.offer(name);
  CHECK(other_case.best() == "Gelu");
  NearestName norm("LayerNorm");
  for (const char* const name : {"LayerNorms", "LayerNormalization", "GroupNormalization"}) {
    norm.offer(name);
  }
  CHECK(norm.best() == "LayerNormalization");
  NearestName layer("LayerNorm");
  for (const char* const name : {"GroupNormalization", "LayerNormalization"}) layer.offer(name);
  CHECK(layer.best() == "LayerNormalization");
}

TEST_CASE("names of a megabyte are compared in the time of reading them") {
  const std::string a(1'000'000, 'a');
  CHECK(edit_distance(a, a.substr(2) + "bb", 8) == 2);
  CHECK(edit_distance(a, std::string(1'000'000, 'b'), 8) == 9);
}

}  // namespace

// ---- white space test ----

namespace {

TEST_CASE("white space is cut from both ends and kept inside") {
  CHECK(trimmed(" \t a b\r\n") == "a b");
  CHECK(trimmed("\v\fx") == "x");
  CHECK(trimmed("x") == "x");
  CHECK(trimmed(" \n\t").empty());
  CHECK(trimmed("").empty());
}

}  // namespace

}  // namespace cleave
