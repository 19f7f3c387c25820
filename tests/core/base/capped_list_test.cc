#include "core/base/capped_list.h"

#include "tests/catch2.h"

namespace cleave {
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
}  // namespace cleave
