#include "formats/base/text/text_layout.h"

#include <algorithm>
#include <random>
#include <sstream>
#include <string>
#include <vector>

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

// The lines of a text.
std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

TEST_CASE("lines hold as many words as fit, and all words in order") {
  std::mt19937 random(3);
  for (int round = 0; round < 300; ++round) {
    std::string text;
    for (std::size_t words = 1 + random() % 40; words > 0; --words) {
      text += (text.empty() ? "" : " ") + std::string(1 + random() % 30, 'w');
    }
    const std::size_t first = random() % 8, rest = random() % 8;
    const std::vector<std::string> lines = lines_of(wrapped(text, first, rest));
    std::string all;
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const std::size_t indent = i == 0 ? first : rest;
      CHECK(lines[i].size() <= 100);
      CHECK(lines[i].find_first_not_of(' ') == indent);
      if (i > 0) {  // its first word did not fit into the line before
        const std::size_t word = std::min(lines[i].find(' ', indent), lines[i].size()) - indent;
        CHECK(lines[i - 1].size() + 1 + word > 100);
      }
      all += (i == 0 ? "" : " ") + lines[i].substr(indent);
    }
    CHECK(all == text);
  }
}

TEST_CASE("a text that fits is whole, and one that does not ends with dots in the last column") {
  for (std::size_t columns = 4; columns < 12; ++columns) {
    for (std::size_t size = 0; size < 20; ++size) {
      const std::string text = std::string("abcdefghijklmnopqrst").substr(0, size);
      CHECK(fitted(text, columns) ==
            (size <= columns ? text : text.substr(0, columns - 3) + "..."));
    }
  }
}

TEST_CASE("as many items are named as fit with the dots that stand for the rest") {
  for (std::size_t count = 1; count < 6; ++count) {
    for (std::size_t columns = 4; columns < 40; ++columns) {
      const std::vector<std::string> items(count, "nnnn");
      // By the definition: the largest number of items, the first among them, that fits.
      std::size_t best = 1;
      for (std::size_t named = 2; named <= count; ++named) {
        const std::size_t width = 4 * named + 2 * (named - 1) + (named < count ? 5 : 0);
        if (width <= columns) best = named;
      }
      std::string expected = "nnnn";
      for (std::size_t i = 1; i < best; ++i) expected += ", nnnn";
      if (best < count) expected += ", ...";
      CAPTURE(count, columns);
      CHECK(some_of(items, columns) == expected);
    }
  }
}

TEST_CASE("columns of a table are as wide as their widest cell, two blanks apart") {
  TextTable table({"a", "bb", "c"}, {Align::left, Align::right, Align::left});
  table.add_row({"1234", "5", "x"});
  table.add_row({"", "", ""});
  table.add_row({"6", "789", ""});
  CHECK(table.text() == "a      bb  c\n1234    5  x\n\n6     789\n");
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
