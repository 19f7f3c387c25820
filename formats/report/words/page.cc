#include "formats/report/words/page.h"

#include "core/base/number_text.h"

namespace cleave {

void Page::fact(std::string_view label, std::string_view text, std::size_t column) {
  std::string lines = wrapped(text, column, column);
  lines.replace(0, label.size(), label);
  text_ += lines;
}

void Page::counted_fact(std::size_t count, std::string_view text, std::size_t width) {
  const std::string number = count_text(count);
  fact(std::string(2 + width - number.size(), ' ') + number, text, width + 4);
}

void Page::table(const TextTable& table, const std::vector<std::string>& notes, std::size_t most) {
  const std::string made = table.text();
  std::string_view rows = made;
  blank();
  for (const std::string& note : notes) {
    const std::size_t end = rows.find('\n') + 1;
    text_ += rows.substr(0, end);
    rows.remove_prefix(end);
    if (!note.empty()) line(fitted(note, most), 6);
  }
}

void Page::rest(const CappedList& list, std::string_view one, std::string_view many) {
  if (list.left_out() > 0) text_ += list.rest(one, many) + '\n';
}

}  // namespace cleave
