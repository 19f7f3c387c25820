// Rows of a CSV or TSV text, as RFC 4180 has them: a cell in quotes may hold separators, line ends,
// and doubled quotes. The first line shows what separates: a tab, else a comma, else a semicolon.
// White space around cells without quotes means nothing; empty lines are passed over.
#pragma once

#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/string_arena.h"
#include "formats/text/faults.h"

namespace cleave {

struct CsvRow {
  std::size_t offset = 0;               // of its beginning
  std::vector<std::string_view> cells;  // in the text, or kept by the reader
};

class CsvRows {
 public:
  CsvRows(std::string_view text, TextFaults& faults);

  // The next row, which is there until this is called again; its cells live as long as the text and
  // this. Null at the text's end, and once there are faults enough.
  const CsvRow* next();
  char separator() const { return separator_; }
  // What cells that are not in the text are kept in, for those who go on using them.
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
