// Tables in Markdown: a row of headings, a row of dashes, rows of cells between bars; and the lists
// of items below headings that cells link to.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace cleave {

struct MarkdownRow {
  std::size_t line;                // from 1
  std::vector<std::string> cells;  // without links, code marks and tags but <br>
  std::vector<std::string> links;  // to headings of the text, without "#"
};

struct MarkdownTable {
  std::string section;  // the heading above; empty: none
  std::vector<std::string> headings;
  std::vector<MarkdownRow> rows;
};

// "- text" below a heading.
struct MarkdownItem {
  std::string text;                 // with its own items behind it, but for exceptions
  std::vector<std::string> except;  // "- Exceptions: [A, B]" below it
};

struct MarkdownSection {
  std::string link;  // of its heading: small letters, "-" for blanks, no other signs
  std::vector<MarkdownItem> items;
};

// The sections that have items, in the order of the text. Linear.
std::vector<MarkdownSection> parse_markdown_sections(std::string_view text);

// The tables in the order of the text. Rows may have fewer cells than there are headings. Linear.
std::vector<MarkdownTable> parse_markdown_tables(std::string_view text);

}  // namespace cleave
