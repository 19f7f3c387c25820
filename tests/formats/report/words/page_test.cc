#include "formats/report/words/page.h"

#include "tests/catch2.h"

namespace cleave {

TEST_CASE("facts have their labels in one column and their texts in another, on every line") {
  Page page;
  page.fact("link", "gen4x16", 8);
  page.fact("a label", std::string(60, 'x') + " " + std::string(60, 'y'), 8);
  page.counted_fact(7, "seven", 5);
  page.counted_fact(1200, "many", 5);
  CHECK(page.take() == "link    gen4x16\na label " + std::string(60, 'x') + "\n        " +
                           std::string(60, 'y') + "\n      7  seven\n  1,200  many\n");
}

TEST_CASE("a table has notes below its rows, cut to the columns that they may take") {
  TextTable table({"op", "nodes"}, {Align::left, Align::right});
  table.add_row({"Conv", "3"});
  table.add_row({"Relu", "2"});
  Page page;
  page.table(table, {"", "wants float32", ""}, 10);
  CHECK(page.take() == "\nop    nodes\nConv      3\n      wants f...\nRelu      2\n");
}

TEST_CASE("what a list leaves out is a line of its own, if there is any") {
  CappedList list(1);
  Page page;
  list.shows_next();
  page.rest(list, "... and # more op", "... and # more ops");
  CHECK(page.take().empty());
  list.shows_next();
  page.heading("ops");
  page.line("Conv", 2);
  page.rest(list, "... and # more op", "... and # more ops");
  CHECK(page.take() == "\nops\n  Conv\n... and 1 more op\n");
}

}  // namespace cleave
