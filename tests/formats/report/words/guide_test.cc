#include "formats/report/words/guide.h"

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

TEST_CASE("All of the guide is plain text, and a terminal of 100 columns shows it") {
  const auto sections = guide_sections(kGuide);
  CHECK(sections.size() > 20);
  for (const GuideSection& section : sections) {
    if (section.level > 2) continue;
    INFO(section.title);
    CHECK_FALSE(section.says.empty());
    const std::string text = wrapped(plain_text(section.text), 100);
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = text.find('\n', at);
      const std::string line = text.substr(at, end - at);
      if (!line.starts_with("    ")) CHECK(line.size() <= 110);  // bytes
      CHECK(line.find("](") == std::string::npos);
      at = end + 1;
    }
  }
}

TEST_CASE("titles of one to six marks and a blank are titles, and others are text") {
  const auto sections = guide_sections(
      "# Top\n## Two\nA.\n### Three\nB.\n###### Six\nC.\n####### Seven\n##No blank\n##\n## Last");
  REQUIRE(topics(sections) == "two three six last ");
  CHECK(sections[0].level == 2);
  CHECK(sections[2].level == 6);
  CHECK(sections[0].text.ends_with("##\n"));
  CHECK(sections[1].text.starts_with("### Three\n"));
  CHECK(sections[1].text.ends_with("##\n"));
  CHECK(sections[3].text == "## Last");
  CHECK(guide_sections("").empty());
}

TEST_CASE("a topic has the letters, digits and hyphens of its title") {
  const auto sections = guide_sections("## It's 2-D: Zaz, A\xC3\xA9!\n\nText\n");
  CHECK(topics(sections) == "its-2-d-zaz-a ");
}

TEST_CASE("what a section says first ends at its first mark of an end, or with its paragraph") {
  const auto says = [](const std::string& text) {
    return guide_sections("## A title\n\n" + text)[0].says;
  };
  CHECK(says("It has 1.5 parts. And more.\n") == "It has 1.5 parts.");
  CHECK(says("Why? So.\n") == "Why?");
  CHECK(says("These are:\n\n- one\n") == "These are:");
  CHECK(says("no end\nhere\n\nOther.\n") == "no end here");
  CHECK(says("The last.") == "The last.");
  CHECK(says("").empty());
}

TEST_CASE("words are found at the start of words, in any case, with hyphens as blanks") {
  constexpr std::string_view kText =
      "## Cost models\n\nAbout.\n\n## Other\n\nPre-cost and 2cost.\n";
  CHECK(found(kText, {"COST"}) == "cost-models ");
  CHECK(found(kText, {"cost-mod"}) == "cost-models ");
  CHECK(found(kText, {"models", "cost"}) == "cost-models ");
  CHECK(found(kText, {"pre-cost"}) == "other ");
  CHECK(found(kText, {"ost"}).empty());
  CHECK(found(kText, {"2cost"}) == "other ");
  CHECK(found("## Zeta\n\nX.\n\n### Zeta two\n\nY.\n\n## Zeta b\n\nZ.\n", {"zet"}) ==
        "zeta zeta-two zeta-b ");
}

TEST_CASE("items may be numbered and indented, and go on below themselves") {
  CHECK(plain_text("12. twelve\n    goes on\n  - inner\n    more\n\nEnd.\n") ==
        "12. twelve goes on\n  - inner more\n\nEnd.\n");
  CHECK(plain_text("-no item\n1.no item\n. no\n") == "-no item 1.no item . no\n");
  CHECK(plain_text("    shown\n    too\n") == "    shown\n    too\n");
}

TEST_CASE("blank lines are one, and none begins or ends the text") {
  CHECK(plain_text("\n\nOne.\n\n\n\nTwo.\n\n\n") == "One.\n\nTwo.\n");
  CHECK(plain_text("").empty());
  CHECK(plain_text("\n").empty());
}

TEST_CASE("titles are underlined by their level, as wide as they are") {
  CHECK(plain_text("# A\n## Bb\n### Ccc\n") == "A\n=\nBb\n==\nCcc\n---\n");
}

TEST_CASE("what is shown keeps its lines, and files and commands are marked") {
  CHECK(plain_text("Text\n```json my.json\n{\n\n}\n```\nAfter\n") ==
        "Text\n    my.json:\n    {\n\n    }\nAfter\n");
  CHECK(plain_text("```bash\na\n\nb \\\n  c\nd\n```\n") ==
        "    $ a\n\n    $ b \\\n      c\n    $ d\n");
}

TEST_CASE("links and bold lose their marks, and brackets that are no links keep theirs") {
  CHECK(plain_text("a [b] (c) [d](e)\n") == "a [b] (c) d (e)\n");
  CHECK(plain_text("[x.md](x.md) [y](#z)\n") == "x.md y\n");
  CHECK(plain_text("[a] b](c) *one* **two**\n") == "[a] b](c) *one* two\n");
  CHECK(plain_text("[open](no end\n") == "[open](no end\n");
  CHECK(plain_text("[a **b**](c)\n") == "a b (c)\n");
}

TEST_CASE("tables take rows of other widths, and end the paragraph before them") {
  CHECK(plain_text("Text\n| a | b |\n| --- | --- |\n| 1 |\n| 2 | 3 | 4 |\nAfter\n") ==
        "Text\na  b\n1\n2  3\nAfter\n");
  const std::string wide(70, 'x');
  CHECK(plain_text("| key | is |\n| --- | --- |\n| " + wide + " | " + wide + " |\n| k | |\n") ==
        "  " + wide + "\n      " + wide + "\n  k\n");
}

}  // namespace

}  // namespace cleave
