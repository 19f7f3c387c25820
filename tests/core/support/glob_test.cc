#include "core/support/glob.h"

#include <random>
#include <string>

#include "tests/catch2.h"

namespace cleave {
namespace {

TEST_CASE("a glob matches whole texts: a star any run, a question mark any one character") {
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

TEST_CASE("matching a glob of many stars on a long text is fast") {
  const std::string text(20000, 'a');
  std::string pattern;
  for (int i = 0; i < 50; ++i) pattern += "a*";
  CHECK_FALSE(glob_match(pattern + "b", text));
}

using Ids = std::vector<std::uint32_t>;

TEST_CASE("a set of globs finds those that match, by id") {
  GlobSet globs;
  CHECK(globs.empty());
  CHECK(globs.matches("conv").empty());
  globs.add("conv*", 7);
  globs.add("*", 3);
  globs.add("*v2?", 5);
  globs.add("conv2d", 1);
  globs.add("*nothing*", 2);
  CHECK_FALSE(globs.empty());
  CHECK(globs.matches("conv2d") == Ids{1, 3, 5, 7});
  CHECK(globs.matches("convolution") == Ids{3, 7});
  CHECK(globs.matches("") == Ids{3});
}

TEST_CASE("a set of globs finds what each glob finds alone") {
  std::mt19937 chance(7);
  const auto some_text = [&](const std::string& letters, std::size_t most) {
    std::string text(chance() % most, ' ');
    for (char& c : text) c = letters[chance() % letters.size()];
    return text;
  };
  for (int round = 0; round < 300; ++round) {
    std::vector<std::string> patterns;
    for (int i = 0; i < 20; ++i) patterns.push_back(some_text("aab*?", i == 0 ? 40 : 8));
    GlobSet globs;
    for (std::uint32_t i = 0; i < patterns.size(); ++i) globs.add(patterns[i], i);
    const std::string text = some_text("aab", 30);
    Ids wanted;
    for (std::uint32_t i = 0; i < patterns.size(); ++i) {
      if (glob_match(patterns[i], text)) wanted.push_back(i);
    }
    CHECK(globs.matches(text) == wanted);
  }
}

}  // namespace
}  // namespace cleave
