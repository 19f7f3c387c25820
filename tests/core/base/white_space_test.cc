#include "core/base/white_space.h"

#include "tests/catch2.h"

namespace cleave {
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
