#include "formats/report/guide/guide.h"

#include <algorithm>

#include "tests/catch2.h"

namespace cleave {
namespace {

constexpr std::string_view kSmall = R"(# The guide

Not a chapter.

## Support lists

What is a *list*? It names [ops](#ops), see [the formats](../formats/README.md).

```sh
# a comment, no title
cleave lists
```

### Vendors' lists

They come with **cleave**.

## CI

Gates.
)";

std::string topics(const std::vector<GuideSection>& sections) {
  std::string text;
  for (const GuideSection& section : sections) text += section.topic + " ";
  return text;
}

std::string found(std::string_view markdown, const std::vector<std::string>& words) {
  const auto sections = guide_sections(markdown);
  std::string text;
  for (const std::size_t i : find_sections(sections, words)) text += sections[i].topic + " ";
  return text;
}

TEST_CASE("A chapter reaches to the next, with its sections; a comment in a command is no title") {
  const auto sections = guide_sections(kSmall);
  REQUIRE(topics(sections) == "support-lists vendors-lists ci ");
  CHECK(sections[0].says == "What is a *list*?");
  CHECK(sections[0].text.find("### Vendors' lists") != std::string_view::npos);
  CHECK(sections[0].text.find("## CI") == std::string_view::npos);
  CHECK(sections[1].level == 3);
  CHECK(sections[2].text == "## CI\n\nGates.\n");
}

TEST_CASE("A topic is found by its name, by words of its title, and by its text") {
  CHECK(found(kSmall, {"support-lists"}) == "support-lists ");
  CHECK(found(kSmall, {"Vendors", "lists"}) == "vendors-lists ");
  CHECK(found(kSmall, {"list"}) == "support-lists ");  // the only chapter of two titles
  CHECK(found(kSmall, {"gates"}) == "ci ");
  CHECK(found(kSmall, {"cleave"}) == "support-lists vendors-lists ");
  CHECK(found(kSmall, {"leave"}).empty());
}

TEST_CASE("Marks of Markdown go, and commands, items, addresses and tables stay") {
  const std::string text = plain_text(R"(## A title

Some **bold** words with a [place](#here), a [file](x/README.md), and `a[0](1) **` as
it is.

- one item
  that goes on
1. two

```sh
cleave a \
  b
```

| key | is |
| --- | --- |
| `a\|b` | c |
)");
  CHECK(text == R"(A title
=======

Some bold words with a place, a file (x/README.md), and `a[0](1) **` as it is.

- one item that goes on
1. two

    $ cleave a \
      b

key    is
`a|b`  c
)");
}

TEST_CASE("A table that is too wide has its rows one after the other") {
  const std::string text = plain_text("| key | is | for |\n| --- | --- | --- |\n| the longest | " +
                                      std::string(85, 'x') + " | z |\n");
  CHECK(text == "  the longest\n      is: " + std::string(85, 'x') + "\n      for: z\n");
}

TEST_CASE("All of the guide is plain text of at most 100 columns, but for what is shown") {
  const auto sections = guide_sections(kGuide);
  CHECK(sections.size() > 20);
  for (const GuideSection& section : sections) {
    if (section.level > 2) continue;
    INFO(section.title);
    CHECK_FALSE(section.says.empty());
    const std::string text = plain_text(section.text);
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = text.find('\n', at);
      const std::string line = text.substr(at, end - at);
      if (!line.starts_with("    ")) CHECK(line.size() <= 110);  // bytes
      CHECK(line.find("](") == std::string::npos);
      at = end + 1;
    }
  }
}

}  // namespace
}  // namespace cleave
