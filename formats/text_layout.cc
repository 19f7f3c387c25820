#include "formats/text_layout.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "formats/utf8.h"

namespace cleave {
namespace {

// Where the character at `at` ends; a byte that is none counts as one.
std::size_t behind_character(std::string_view text, std::size_t at) {
  return at + std::max<std::size_t>(utf8_character(text.substr(at)), 1);
}

std::string padding(std::size_t columns, std::size_t width) {
  return std::string(columns < width ? width - columns : 0, ' ');
}

void end_line(std::string& text) {
  text.erase(text.find_last_not_of(' ') + 1);
  text += '\n';
}

}  // namespace

std::size_t text_columns(std::string_view text) {
  std::size_t columns = 0;
  for (std::size_t at = 0; at < text.size(); at = behind_character(text, at)) ++columns;
  return columns;
}

std::string fitted(std::string_view text, std::size_t columns) {
  constexpr std::string_view kCut = "...";
  assert(columns > kCut.size());
  std::size_t seen = 0;
  std::size_t cut = 0;  // where the text is cut if it does not fit
  for (std::size_t at = 0; at < text.size(); at = behind_character(text, at)) {
    if (seen == columns - kCut.size()) cut = at;
    if (++seen > columns) return std::string(text.substr(0, cut)) + std::string(kCut);
  }
  return std::string(text);
}

std::string wrapped(std::string_view text, std::size_t first, std::size_t rest) {
  std::string out(first, ' ');
  std::size_t column = first;
  std::size_t start = first;
  while (!text.empty()) {
    const std::size_t space = std::min(text.find(' '), text.size());
    const std::string word = fitted(text.substr(0, space), kTextColumns - std::max(first, rest));
    text.remove_prefix(std::min(space + 1, text.size()));
    const std::size_t width = text_columns(word);
    if (column > start && column + 1 + width > kTextColumns) {
      end_line(out);
      out.append(rest, ' ');
      column = start = rest;
    } else if (column > start) {
      out += ' ';
      ++column;
    }
    out += word;
    column += width;
  }
  end_line(out);
  return out;
}

std::string some_of(const std::vector<std::string>& items, std::size_t columns) {
  constexpr std::string_view kMore = ", ...";
  std::string text;
  std::size_t used = 0;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const std::size_t reserve = i + 1 < items.size() ? kMore.size() : 0;
    if (i == 0) {
      text = fitted(items[0], std::max<std::size_t>(columns - reserve, 4));
      used = text_columns(text);
      continue;
    }
    const std::size_t width = 2 + text_columns(items[i]);
    if (used + width + reserve > columns) return text + std::string(kMore);
    text += ", " + items[i];
    used += width;
  }
  return text;
}

TextTable::TextTable(std::vector<std::string> headings, std::vector<Align> aligns)
    : aligns_(std::move(aligns)) {
  assert(headings.size() == aligns_.size());
  rows_.push_back(std::move(headings));
}

void TextTable::add_row(std::vector<std::string> cells) {
  assert(cells.size() == aligns_.size());
  rows_.push_back(std::move(cells));
}

std::string TextTable::text() const {
  std::vector<std::size_t> widths(aligns_.size(), 0);
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], text_columns(row[i]));
    }
  }
  std::string text;
  for (const auto& row : rows_) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string space = padding(text_columns(row[i]), widths[i]);
      if (i > 0) line += "  ";
      line += aligns_[i] == Align::left ? row[i] + space : space + row[i];
    }
    end_line(line);
    text += line;
  }
  return text;
}

}  // namespace cleave
