// Rows of a CSV or TSV text, as RFC 4180 has them: a cell in quotes may hold separators, line ends,
// and quotes that are doubled. Tabs separate where the first line has one, else commas. White space
// around cells without quotes means nothing; empty lines are passed over.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/support_reader.h"

namespace cleave {

struct CsvRow {
  std::size_t offset = 0;  // of its beginning
  std::vector<std::string> cells;
};

class CsvRows {
 public:
  CsvRows(std::string_view text, SupportFaults& faults);

  // Nothing at the text's end, and once there are faults enough.
  std::optional<CsvRow> next();
  char separator() const { return separator_; }

 private:
  CsvRow take_row();
  std::string take_cell();
  std::string take_quoted_cell();
  void skip_to_separator();
  bool at_cell_end() const {
    return at_ == text_.size() || text_[at_] == separator_ || text_[at_] == '\n';
  }

  std::string_view text_;
  SupportFaults& faults_;
  char separator_ = ',';
  std::size_t at_ = 0;
};

}  // namespace cleave
