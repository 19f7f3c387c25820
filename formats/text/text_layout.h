// Plain text for terminals: lines of at most 100 columns, tables with aligned columns.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace cleave {

inline constexpr std::size_t kTextColumns = 100;

// Characters of UTF-8 text; each is taken to be one column wide.
std::size_t text_columns(std::string_view text);

// The text, or its start and "..." when it is longer than `columns` (4 at least).
std::string fitted(std::string_view text, std::size_t columns);

// The text in lines that begin with `first`, then `rest` spaces, each ending in '\n'; broken at
// spaces. A word that is longer than a line goes on in the next ones, so that no part of a name
// is lost; one of more than 1,000 columns is cut.
std::string wrapped(std::string_view text, std::size_t first, std::size_t rest);

// As many of the items as fit into `columns`, joined by ", ", then "..." when there are more.
// At least one item, whole.
std::string some_of(const std::vector<std::string>& items, std::size_t columns);

enum class Align { left, right };

// Rows of cells under a heading, two spaces between columns, no spaces at the ends of lines.
class TextTable {
 public:
  TextTable(std::vector<std::string> headings, std::vector<Align> aligns);
  void add_row(std::vector<std::string> cells);
  // From now on first cells wider than that stand on lines of their own, their rows below.
  void wrap_first(std::size_t columns) { widest_first_ = columns; }
  std::string text() const;

 private:
  std::size_t widest_first_ = static_cast<std::size_t>(-1);
  std::vector<Align> aligns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace cleave
