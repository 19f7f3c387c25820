#include "formats/base/text/shell_word.h"

#include "tests/catch2.h"

namespace cleave {
namespace {

TEST_CASE("a word with characters that a shell reads is quoted") {
  CHECK(shell_word("height=SIZE") == "height=SIZE");
  CHECK(shell_word("/model.0/conv:0") == "/model.0/conv:0");
  CHECK(shell_word("floor(height/2) + 1=SIZE") == "'floor(height/2) + 1=SIZE'");
  CHECK(shell_word("it's") == "'it'\\''s'");
  CHECK(shell_word("") == "''");
}

}  // namespace
}  // namespace cleave
