#include "formats/base/text/csv_rows.h"

#include <random>
#include <string>
#include <vector>

#include "tests/catch2.h"

namespace cleave {
namespace {

using Cells = std::vector<std::vector<std::string>>;

// The cells of all rows; the first fault as a row of its own: {"!", line, column, message}.
Cells cells_of(const std::string& text) {
  TextFaults faults("t.csv", text);
  CsvRows rows(text, faults);
  Cells all;
  while (const CsvRow* const row = rows.next()) {
    all.emplace_back();
    for (const std::string_view cell : row->cells) all.back().emplace_back(cell);
  }
  if (!faults.errors().empty()) {
    const Diagnostic& fault = faults.errors().front();
    all.push_back({"!", std::to_string(fault.line), std::to_string(fault.column), fault.message});
  }
  return all;
}

TEST_CASE(
    "cells stand between separators, which the first line shows, without blanks around them") {
  CHECK(cells_of("a,b\n1, 2 \n") == Cells{{"a", "b"}, {"1", "2"}});
  CHECK(cells_of("a;b\n1;2,3") == Cells{{"a", "b"}, {"1", "2,3"}});
  CHECK(cells_of("a,b;c\n1;2,3") == Cells{{"a", "b;c"}, {"1;2", "3"}});
  CHECK(cells_of("a\tb\n1\t2,3") == Cells{{"a", "b"}, {"1", "2,3"}});
  CHECK(cells_of("a,b\tc\n1\t2,3") == Cells{{"a,b", "c"}, {"1", "2,3"}});
  CHECK(cells_of("a\n1;2,3") == Cells{{"a"}, {"1;2", "3"}});
  CHECK(cells_of("a,b\r\n1,2\r\n") == Cells{{"a", "b"}, {"1", "2"}});
}

TEST_CASE("lines without a cell are passed over, those with empty cells are rows") {
  CHECK(cells_of("").empty());
  CHECK(cells_of("\n\n  \n").empty());
  CHECK(cells_of("a\n\nb\n") == Cells{{"a"}, {"b"}});
  CHECK(cells_of("a,b\n,\n") == Cells{{"a", "b"}, {"", ""}});
  CHECK(cells_of("a,b,\nc") == Cells{{"a", "b", ""}, {"c"}});
}

TEST_CASE("cells in quotes hold separators, line ends, blanks and doubled quotes") {
  CHECK(cells_of("\"a,b\",\" c \"\n\"d\ne\",f") == Cells{{"a,b", " c "}, {"d\ne", "f"}});
  CHECK(cells_of("\"a\"\"b\"\"\",c") == Cells{{"a\"b\"", "c"}});
  CHECK(cells_of("\"\"\"\",\"\"") == Cells{{"\"", ""}});
  CHECK(cells_of("\"a\"  \r\nb") == Cells{{"a"}, {"b"}});
  CHECK(cells_of("\"a\" ,b") == Cells{{"a", "b"}});
  CHECK(cells_of("\"a\"") == Cells{{"a"}});
}

TEST_CASE("a quote that is not closed, and what follows a closing one, are faults at their place") {
  CHECK(cells_of("x,y\na,\"b\nc") ==
        Cells{{"x", "y"}, {"a", "\"b\nc"}, {"!", "2", "3", "the quote is not closed"}});
  CHECK(cells_of("x,y\n\"a\" z,b\nc,d") ==
        Cells{{"x", "y"},
              {"a", "b"},
              {"c", "d"},
              {"!", "2", "5", "only a separator may follow the closing quote"}});
}

TEST_CASE("what is written with quotes where they are needed is read back") {
  std::mt19937 random(5);
  for (const char separator : {',', ';', '\t'}) {
    for (int round = 0; round < 200; ++round) {
      Cells cells = {{"head", "other"}};
      std::string text = std::string("head") + separator + "other\n";
      for (std::size_t rows = random() % 4; rows > 0; --rows) {
        cells.emplace_back();
        for (std::size_t count = 2 + random() % 3; count > 0; --count) {
          std::string cell;
          for (std::size_t size = random() % 6; size > 0; --size)
            cell += "ab,;\t\n\" "[random() % 8];
          std::string quoted = "\"";
          for (const char c : cell) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
          text +=
              (cells.back().empty() ? std::string() : std::string(1, separator)) + quoted + "\"";
          cells.back().push_back(cell);
        }
        text += random() % 2 == 0 ? "\n" : "\r\n";
      }
      CAPTURE(text);
      CHECK(cells_of(text) == cells);
    }
  }
}

}  // namespace
}  // namespace cleave
