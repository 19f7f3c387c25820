// Plain text for terminals: lines of at most 100 columns, tables with aligned columns.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace cleave {

inline constexpr std::size_t kTextColumns = 100;

// The columns that UTF-8 text takes in a terminal: see utf8_columns().
std::size_t text_columns(std::string_view text);

// The text, or its start and "..." when it is longer than `columns` (4 at least).
std::string fitted(std::string_view text, std::size_t columns);

// Breaks the text into lines at spaces. The first line starts with `first` spaces, the others with
// `rest`; each ends in '\n'. A word longer than a line continues on the next ones, so that no part
// of a name is lost; one of more than 1,000 columns is cut.
std::string wrapped(std::string_view text, std::size_t first, std::size_t rest);

// As many items as fit into `columns`, joined by ", ", then "..." when there are more. At least one
// item, complete.
std::string some_of(const std::vector<std::string>& items, std::size_t columns);
// The same of texts that are made here, of those that fit and one more.
template <class Items, class TextOf>
std::string some_of(const Items& items, std::size_t columns, TextOf text_of) {
  std::vector<std::string> texts;
  std::size_t used = 0;
  for (const auto& item : items) {
    if (used > columns && texts.size() > 1) break;
    texts.push_back(text_of(item));
    used += text_columns(texts.back()) + (texts.size() > 1 ? 2 : 0);
  }
  return some_of(texts, columns);
}

enum class Align { left, right };

// Rows of cells under a heading, two spaces between columns, no spaces at the ends of lines.
class TextTable {
 public:
  TextTable(std::vector<std::string> headings, std::vector<Align> aligns);
  void add_row(std::vector<std::string> cells);
  // From now on a first cell wider than this gets a line of its own, with its row below.
  void wrap_first(std::size_t columns) { widest_first_ = columns; }
  std::string text() const;

 private:
  std::size_t widest_first_ = static_cast<std::size_t>(-1);
  std::vector<Align> aligns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace cleave
