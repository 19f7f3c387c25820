#include "formats/base/text/csv_rows.h"

#include <string>

#include "core/base/white_space.h"

namespace cleave {

CsvRows::CsvRows(std::string_view text, TextFaults& faults) : text_(text), faults_(faults) {
  const std::string_view line = text.substr(0, text.find('\n'));
  const bool has_commas = line.find(',') != line.npos;
  if (!has_commas && line.find(';') != line.npos) separator_ = ';';
  if (line.find('\t') != line.npos) separator_ = '\t';
}

const CsvRow* CsvRows::next() {
  while (at_ < text_.size() && !faults_.is_full()) {
    take_row();
    if (row_.cells.size() > 1 || !row_.cells[0].empty()) return &row_;
  }
  return nullptr;
}

void CsvRows::take_row() {
  row_.offset = at_;
  row_.cells.clear();
  for (;;) {
    row_.cells.push_back(take_cell());
    if (at_ == text_.size()) return;
    if (text_[at_++] == '\n') return;
  }
}

// Leaves the reader at the separator or line end after the cell.
std::string_view CsvRows::take_cell() {
  if (at_ < text_.size() && text_[at_] == '"') return take_quoted_cell();
  const std::size_t begin = at_;
  while (!at_cell_end()) ++at_;
  return trimmed(text_.substr(begin, at_ - begin));
}

std::string_view CsvRows::take_quoted_cell() {
  const std::size_t begin = at_++;
  std::string parts;  // of the cell, each up to and including the first of two doubled quotes
  for (;;) {
    const std::size_t quote = text_.find('"', at_);
    if (quote == text_.npos) {
      at_ = text_.size();
      faults_.error(begin, "the quote is not closed");
      return text_.substr(begin);
    }
    const std::string_view part = text_.substr(at_, quote - at_);
    at_ = quote + 1;
    if (at_ < text_.size() && text_[at_] == '"') {
      parts.append(part) += '"';
      ++at_;
      continue;
    }
    skip_to_separator();
    return parts.empty() ? part : kept_.keep(parts.append(part));
  }
}

void CsvRows::skip_to_separator() {
  while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\r')) ++at_;
  if (at_cell_end()) return;
  faults_.error(at_, "only a separator may follow the closing quote");
  while (!at_cell_end()) ++at_;
}

}  // namespace cleave
