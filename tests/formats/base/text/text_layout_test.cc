#include "formats/base/text/text_layout.h"

#include "tests/catch2.h"

namespace cleave {
namespace {

TEST_CASE("a word longer than a line continues on the next, without loss") {
  const std::string name(120, 'n');
  CHECK(wrapped("why: " + name + ": no rule", 2, 4) ==
        "  why:\n    " + name.substr(0, 96) + "\n    " + name.substr(0, 24) + ": no rule\n");
  CHECK(wrapped(name, 0, 2) == name.substr(0, 100) + "\n  " + name.substr(0, 20) + "\n");
  std::string umlauts = "\u00e4";
  for (int i = 0; i < 7; ++i) umlauts += umlauts;  // 128 characters of two bytes
  CHECK(wrapped(umlauts, 0, 0) == umlauts.substr(0, 200) + "\n" + umlauts.substr(0, 56) + "\n");
  CHECK(text_columns(wrapped(std::string(1200, 'x'), 0, 0)) == 1000 + 10);  // and line ends
}

TEST_CASE("wide characters take two columns, marks none") {
  CHECK(text_columns("\u4E2D\u6587") == 4);
  CHECK(text_columns("\uFF21\uFF71") == 3);  // a full-width letter, a half-width one
  CHECK(text_columns("e\u0301\U0001F600") == 3);
  CHECK(text_columns("\xFF"
                     "a") == 2);
  CHECK(fitted("\u4E2D\u6587\u4E2D", 6) == "\u4E2D\u6587\u4E2D");
  CHECK(fitted("\u4E2D\u6587\u4E2D\u6587", 6) == "\u4E2D...");
  TextTable table({"name", "n"}, {Align::left, Align::right});
  table.add_row({"\u4E2D\u6587\u4E2D", "1"});
  CHECK(table.text() == "name    n\n\u4E2D\u6587\u4E2D  1\n");
}

TEST_CASE("a text of marks alone is cut, too") {
  std::string marks;
  for (int i = 0; i < 10'000; ++i) marks += "\u0301";
  CHECK(fitted("e" + marks, 10).size() < 200);
  CHECK(wrapped(marks, 0, 0).size() < 17'000);
}

TEST_CASE("the first name of a list is shown in full, however long") {
  const std::string name(60, 'n');
  CHECK(some_of({name, "b"}, 40) == name + ", ...");
  CHECK(some_of({"a", name}, 40) == "a, ...");
  CHECK(some_of({"a", "b"}, 40) == "a, b");
}

TEST_CASE("a wide first cell gets a line of its own if the table asks for it") {
  TextTable table({"part", "nodes"}, {Align::left, Align::right});
  table.wrap_first(6);
  table.add_row({"short", "12"});
  table.add_row({"rather_long", "3"});
  CHECK(table.text() ==
        "part   nodes\n"
        "short     12\n"
        "rather_long\n"
        "           3\n");
}

TEST_CASE("items that fit into the columns are named as if all texts were at hand") {
  for (std::size_t count = 0; count < 8; ++count) {
    for (std::size_t columns = 4; columns < 60; ++columns) {
      std::vector<std::string> names;
      for (std::size_t i = 0; i < count; ++i) names.emplace_back(3 + 7 * i % 11, 'n');
      CAPTURE(count, columns);
      CHECK(some_of(names, columns, [](const std::string& item) { return item; }) ==
            some_of(names, columns));
    }
  }
}

TEST_CASE("texts are made for items that fit and for one more, not for all") {
  std::size_t made = 0;
  const auto count = [&](const std::string& item) {
    ++made;
    return item;
  };
  CHECK(some_of(std::vector<std::string>(1000, "name"), 16, count) == "name, name, ...");
  CHECK(made <= 4);
}

}  // namespace
}  // namespace cleave
