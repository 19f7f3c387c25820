// Tables in Markdown: a row of headings, a row of dashes, rows of cells between bars.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace cleave {

struct MarkdownRow {
  std::size_t line;                // from 1
  std::vector<std::string> cells;  // without links, code marks and tags but <br>
};

struct MarkdownTable {
  std::vector<std::string> headings;
  std::vector<MarkdownRow> rows;
};

// In the order of the text. Rows may have fewer cells than there are headings. Linear.
std::vector<MarkdownTable> parse_markdown_tables(std::string_view text);

}  // namespace cleave
