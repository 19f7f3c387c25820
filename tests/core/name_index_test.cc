#include "core/name_index.h"

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
  NameIndex index;
  index.fetch("none is there yet");
  for (std::uint32_t i = 0; i < names.size(); ++i) {
    index.fetch(names[i]);
    CHECK(index.find_or_insert(names[i], i, name_of) == NameIndex::kAbsent);
  }
  for (std::uint32_t i = 0; i < names.size(); ++i) {
    CHECK(index.find_or_insert(names[i], 0, name_of) == i);
  }
}

}  // namespace
}  // namespace cleave
