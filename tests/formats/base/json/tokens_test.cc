// JsonTokens calls the first stage of simdjson itself, which is no public interface: what it is relied
// on for is pinned here, for each version that is built with.
#include "formats/base/json/tokens.h"

#include "core/base/result.h"
#include "formats/base/json/cursor.h"
#include "tests/catch2.h"

namespace cleave {
namespace {

using Offsets = std::vector<std::uint32_t>;

// The offsets of all tokens, or the fault.
Result<Offsets, JsonFault> tokens_of(const std::string& text) {
  std::string padded = text;
  padded.append(JsonCursor::kPadding, '\0');
  JsonTokens tokens(std::string_view(padded).substr(0, text.size()));
  Offsets found;
  while (!tokens.is_at_end()) {
    if (auto fault = tokens.read_piece(found)) return *std::move(fault);
  }
  return found;
}

TEST_CASE("tokens begin at brackets, commas, colons, strings, and other words") {
  CHECK(*tokens_of(R"({"a\"b": [1.5e3, true,null], "c":""})") ==
        Offsets{0, 1, 7, 9, 10, 15, 17, 21, 22, 26, 27, 29, 32, 33, 35});
  CHECK(*tokens_of(" \t\r\n7 ") == Offsets{4});
  CHECK(*tokens_of("nonsense") == Offsets{0});
}

TEST_CASE("texts that are read in pieces have the tokens of the whole") {
  std::string text = "[";
  Offsets wanted = {0};
  const std::string item = R"({"}": "\\"})";
  for (int i = 0; i < 50'000; ++i) {
    const auto at = static_cast<std::uint32_t>(text.size());
    for (const std::uint32_t offset : {0U, 1U, 4U, 6U, 10U}) wanted.push_back(at + offset);
    text += item;
    wanted.push_back(static_cast<std::uint32_t>(text.size()));
    text += i == 49'999 ? ']' : ',';
  }
  const auto found = tokens_of(text);
  REQUIRE(found);
  CHECK(*found == wanted);
}

TEST_CASE("what the first stage refuses is told with its place") {
  CHECK(tokens_of("  ").error().message == "contains only white space");
  CHECK(tokens_of("").error().message == "contains only white space");
  CHECK(tokens_of("[\"a]").error().offset == 1);
  CHECK(tokens_of("[\"a\x01\"]").error().offset == 3);
  CHECK(tokens_of("[\"a\nb\"]").error().message ==
        "the line ends inside quotes; a closing quote is missing");
  CHECK(tokens_of("[\"\xC3(\"]").error().offset == 2);
}

}  // namespace
}  // namespace cleave
