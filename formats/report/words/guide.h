// The guide for users, as chapters and as plain text: what `cleave help` prints.
//
//   ## Support lists          a chapter, topic "support-lists"
//   ### Vendors' lists        a section of it, topic "vendors-lists"
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "formats/base/text.h"

namespace cleave {

// samples/README.md, which the build puts into the program.
extern const std::string_view kGuide;

struct GuideSection {
  std::string topic;  // the title in lower case, with hyphens, as GitHub makes addresses of it
  std::string title;
  std::string says;       // the first sentence, without marks
  std::uint8_t level;     // 2: a chapter, 3 and more: a section of the chapter before it
  std::string_view text;  // from the title to the next of this level or above, as Markdown
};

// In the order of the text, which must live as long as they do. The text before the first chapter is
// left out.
std::vector<GuideSection> guide_sections(std::string_view markdown);

// The sections that words are about, as places in `sections`: the one of this topic; else those whose
// titles have all words, or the only chapter among them; else those whose text has them. A word also
// matches the start of a longer one. Case does not matter.
std::vector<std::size_t> find_sections(const std::vector<GuideSection>& sections,
                                       const std::vector<std::string>& words);

// Markdown as plain text, each paragraph and item a line; of what is shown between ``` commands begin with
// "$ ", tables are aligned or, where they are wider than `columns`, one item after the other. Knows what the guide
// uses: titles, lists, tables, fences, links, bold.
std::string plain_text(std::string_view markdown, std::size_t columns = kTextColumns);

}  // namespace cleave
