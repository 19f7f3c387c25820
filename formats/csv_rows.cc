#include "formats/csv_rows.h"

#include "core/support.h"

namespace cleave {

CsvRows::CsvRows(std::string_view text, SupportFaults& faults) : text_(text), faults_(faults) {
  const std::string_view line = text.substr(0, text.find('\n'));
  if (line.find('\t') != line.npos) separator_ = '\t';
}

std::optional<CsvRow> CsvRows::next() {
  while (at_ < text_.size() && !faults_.is_full()) {
    CsvRow row = take_row();
    if (row.cells.size() > 1 || !row.cells[0].empty()) return row;
  }
  return std::nullopt;
}

CsvRow CsvRows::take_row() {
  CsvRow row{at_, {}};
  for (;;) {
    row.cells.push_back(take_cell());
    if (at_ == text_.size()) return row;
    if (text_[at_++] == '\n') return row;
  }
}

// Leaves the reader at the separator or line end behind the cell.
std::string CsvRows::take_cell() {
  if (at_ < text_.size() && text_[at_] == '"') return take_quoted_cell();
  const std::size_t begin = at_;
  while (!at_cell_end()) ++at_;
  return std::string(trim(text_.substr(begin, at_ - begin)));
}

std::string CsvRows::take_quoted_cell() {
  const std::size_t begin = at_++;
  std::string cell;
  while (at_ < text_.size()) {
    const char c = text_[at_++];
    if (c != '"') {
      cell += c;
    } else if (at_ < text_.size() && text_[at_] == '"') {
      cell += text_[at_++];
    } else {
      skip_to_separator();
      return cell;
    }
  }
  faults_.error(begin, "the quote is not closed");
  return cell;
}

void CsvRows::skip_to_separator() {
  while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\r')) ++at_;
  if (at_cell_end()) return;
  faults_.error(at_, "only a separator may follow the closing quote");
  while (!at_cell_end()) ++at_;
}

}  // namespace cleave
