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

}  // namespace
}  // namespace cleave
