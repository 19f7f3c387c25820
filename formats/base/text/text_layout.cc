#include "formats/base/text/text_layout.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "formats/base/text/utf8.h"

namespace cleave {
namespace {

constexpr std::size_t kLongestWord = 1000;
constexpr std::size_t kMostColumnBytes = 16;  // a character and its marks

// Where the character at `at` ends; an invalid byte counts as one.
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

// As much of the text as fits into the columns. Marks take no column, so that bytes are limited, too.
std::string_view first_columns(std::string_view text, std::size_t columns) {
  std::size_t at = 0;
  for (std::size_t seen = 0; at < text.size(); at = behind_character(text, at)) {
    seen += utf8_columns(text.substr(at));
    if (seen > columns || at > kMostColumnBytes * columns) break;
  }
  return text.substr(0, at);
}

}  // namespace

std::size_t text_columns(std::string_view text) {
  std::size_t columns = 0;
  for (std::size_t at = 0; at < text.size(); at = behind_character(text, at)) {
    columns += utf8_columns(text.substr(at));
  }
  return columns;
}

std::string fitted(std::string_view text, std::size_t columns) {
  constexpr std::string_view kCut = "...";
  assert(columns > kCut.size());
  if (first_columns(text, columns).size() == text.size()) return std::string(text);
  return std::string(first_columns(text, columns - kCut.size())) + std::string(kCut);
}

std::string wrapped(std::string_view text, std::size_t first, std::size_t rest) {
  std::string out(first, ' ');
  std::size_t column = first;
  std::size_t start = first;
  const auto begin_line = [&] {
    end_line(out);
    out.append(rest, ' ');
    column = start = rest;
  };
  while (!text.empty()) {
    const std::size_t space = std::min(text.find(' '), text.size());
    std::string word = fitted(text.substr(0, space), kLongestWord);
    text.remove_prefix(std::min(space + 1, text.size()));
    std::size_t width = text_columns(word);
    if (column > start && column + 1 + width > kTextColumns) {
      begin_line();
    } else if (column > start) {
      out += ' ';
      ++column;
    }
    for (; column + width > kTextColumns; begin_line()) {
      const std::string head(first_columns(word, kTextColumns - column));
      out += head;
      word.erase(0, head.size());
      width = text_columns(word);
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
      text = items[0];
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
  const auto is_long = [&](const std::string& cell, std::size_t i) {
    return i == 0 && text_columns(cell) > widest_first_;
  };
  std::vector<std::size_t> widths(aligns_.size(), 0);
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (!is_long(row[i], i)) widths[i] = std::max(widths[i], text_columns(row[i]));
    }
  }
  std::string text;
  for (const auto& row : rows_) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      std::string_view cell = row[i];
      if (is_long(row[i], i)) {
        text += wrapped(row[i], 0, 2);
        cell = {};
      }
      const std::string space = padding(text_columns(cell), widths[i]);
      if (i > 0) line += "  ";
      line += aligns_[i] == Align::left ? std::string(cell) + space : space + std::string(cell);
    }
    end_line(line);
    text += line;
  }
  return text;
}

}  // namespace cleave
