// A text report: lines, facts with a label, tables, lists; at most 100 columns.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/capped_list.h"
#include "formats/base/text/text_layout.h"

namespace cleave {

class Page {
 public:
  // A sentence, which continues two columns further in.
  void line(std::string_view text, std::size_t indent = 0) {
    text_ += wrapped(text, indent, indent + 2);
  }
  void lines(const std::vector<std::string>& texts) {
    for (const std::string& text : texts) line(text);
  }
  void blank() { text_ += '\n'; }
  // A blank line, then the title of what follows.
  void heading(std::string_view title) { text_ += '\n' + std::string(title) + '\n'; }

  // "label    text": the text begins, and continues, in this column.
  void fact(std::string_view label, std::string_view text, std::size_t column);
  // "  1,204  text", where numbers are `width` columns wide and end in one column.
  void counted_fact(std::size_t count, std::string_view text, std::size_t width);

  // A blank line, then the table.
  void table(const TextTable& table) { text_ += '\n' + table.text(); }
  // The same with a note below each row, the headings' row first; "" for none. Of a note at most `most`
  // columns are shown.
  void table(const TextTable& table, const std::vector<std::string>& notes, std::size_t most);

  // What a list leaves out: see CappedList::rest().
  void rest(const CappedList& list, std::string_view text) { rest(list, text, text); }
  void rest(const CappedList& list, std::string_view one, std::string_view many);

  // Text that was made elsewhere: whole lines.
  void add(std::string_view lines) { text_ += lines; }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

}  // namespace cleave
