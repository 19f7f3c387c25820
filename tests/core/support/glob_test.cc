#include <random>

#include "core/support/glob.h"
#include "tests/catch2.h"

namespace cleave {
namespace {

TEST_CASE("globs match whole texts, star for any run, question mark for one character") {
  CHECK(glob_match("", ""));
  CHECK(glob_match("*", ""));
  CHECK(glob_match("a*c", "abbc"));
  CHECK(glob_match("a*b*c", "aXbYbZc"));
  CHECK(glob_match("**a**", "a"));
  CHECK(glob_match("?", "\xC3\xA9"));
  CHECK(glob_match("layer4.*", "layer4.0.conv1"));
  CHECK_FALSE(glob_match("", "a"));
  CHECK_FALSE(glob_match("?", ""));
  CHECK_FALSE(glob_match("a", "ab"));
  CHECK_FALSE(glob_match("a*c", "abcd"));
  CHECK_FALSE(glob_match("Relu", "relu"));
  CHECK_FALSE(glob_match("[ab]", "a"));
}

// The definition, by recursion.
bool matches(std::string_view pattern, std::string_view text) {
  if (pattern.empty()) return text.empty();
  if (pattern[0] == '*') {
    return matches(pattern.substr(1), text) || (!text.empty() && matches(pattern, text.substr(1)));
  }
  if (text.empty() || (pattern[0] != '?' && pattern[0] != text[0])) return false;
  return matches(pattern.substr(1), text.substr(1));
}

TEST_CASE("globs agree with their definition on random patterns") {
  std::mt19937 random(7);
  const auto word = [&](std::string_view letters) {
    std::string text;
    for (std::size_t i = random() % 9; i > 0; --i) text += letters[random() % letters.size()];
    return text;
  };
  for (int i = 0; i < 20000; ++i) {
    const std::string pattern = word("ab*?");
    const std::string text = word("ab");
    INFO(pattern << " on " << text);
    REQUIRE(glob_match(pattern, text) == matches(pattern, text));
  }
}

TEST_CASE("a glob of many stars on a long text is done soon") {
  const std::string text(20000, 'a');
  std::string pattern;
  for (int i = 0; i < 50; ++i) pattern += "a*";
  CHECK_FALSE(glob_match(pattern + "b", text));
}

}  // namespace
}  // namespace cleave
