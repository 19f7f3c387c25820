#include "formats/base/text/shell_word.h"

#include <string>

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

TEST_CASE("only letters, digits and a few marks are plain, of all bytes") {
  const std::string plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=,+@%";
  for (int byte = 1; byte < 256; ++byte) {
    const std::string word(1, static_cast<char>(byte));
    CAPTURE(byte);
    CHECK((shell_word(word) == word) == (plain.find(word) != plain.npos));
  }
  CHECK(shell_word(plain) == plain);
  CHECK(shell_word(plain + " ") == "'" + plain + " '");
}

}  // namespace
}  // namespace cleave
