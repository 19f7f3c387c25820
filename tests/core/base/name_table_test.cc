#include "core/base/name_table.h"

#include <string>
#include <vector>

#include "tests/catch2.h"

namespace cleave {
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
