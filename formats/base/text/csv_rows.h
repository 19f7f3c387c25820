// Rows of a CSV or TSV text, as in RFC 4180: a cell in quotes may contain separators, line ends,
// and doubled quotes. The first line decides the separator: a tab, else a comma, else a semicolon.
// White space around unquoted cells is dropped; empty lines are skipped.
#pragma once

#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/string_arena.h"
#include "formats/base/text/faults.h"

namespace cleave {

struct CsvRow {
  std::size_t offset = 0;               // of its first byte
  std::vector<std::string_view> cells;  // views into the text, or into the reader's own memory
};

class CsvRows {
 public:
  CsvRows(std::string_view text, TextFaults& faults);

  // The next row, valid until the next call; its cells live as long as the text and this object.
  // Null at the end of the text, and after too many faults.
  const CsvRow* next();
  char separator() const { return separator_; }
  // The memory of cells that are not in the text, for callers that keep using them.
  StringArena take_kept() && { return std::move(kept_); }

 private:
  void take_row();
  std::string_view take_cell();
  std::string_view take_quoted_cell();
  void skip_to_separator();
  bool at_cell_end() const {
    return at_ == text_.size() || text_[at_] == separator_ || text_[at_] == '\n';
  }

  std::string_view text_;
  TextFaults& faults_;
  char separator_ = ',';
  std::size_t at_ = 0;
  CsvRow row_;
  StringArena kept_;  // cells with doubled quotes
};

}  // namespace cleave
