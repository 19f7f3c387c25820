#include "formats/lists/markdown_table.h"

#include <algorithm>

#include "core/base/white_space.h"

namespace cleave {
namespace {

// The text of a cell: `[text](link)` is its text; ` and * are marks, but * in a name of its own is
// kept; a bar is written \|.
std::string plain_text(std::string_view cell) {
  std::string text;
  for (std::size_t i = 0; i < cell.size(); ++i) {
    const char c = cell[i];
    const bool is_pair = c == '*' && i + 1 < cell.size() && cell[i + 1] == '*';
    if (c == '`' || c == '[') continue;
    if (is_pair) {
      ++i;
      continue;
    }
    if (c == '\\' && i + 1 < cell.size()) {
      text += cell[++i];
      continue;
    }
    if (c == ']') {
      const std::size_t close = cell.find(')', i);
      if (i + 1 < cell.size() && cell[i + 1] == '(' && close != cell.npos) i = close;
      continue;
    }
    text += c;
  }
  return std::string(trimmed(text));
}

bool has_bar(std::string_view line) { return line.find('|') != line.npos; }

std::vector<std::string> cells_of(std::string_view line) {
  line = trimmed(line);
  if (!line.empty() && line.front() == '|') line.remove_prefix(1);
  std::vector<std::string> cells;
  std::size_t begin = 0;
  for (std::size_t at = 0; at <= line.size(); ++at) {
    const bool is_end = at == line.size();
    const bool is_bar = !is_end && line[at] == '|' && (at == 0 || line[at - 1] != '\\');
    if (!is_end && !is_bar) continue;
    if (is_end && trimmed(line.substr(begin)).empty() && !cells.empty()) break;
    cells.push_back(plain_text(line.substr(begin, at - begin)));
    begin = at + 1;
  }
  return cells;
}

// |---|:--:|
bool is_rule(std::string_view line) {
  line = trimmed(line);
  return has_bar(line) && line.find('-') != line.npos &&
         line.find_first_not_of("|-: \t") == line.npos;
}

}  // namespace

std::vector<MarkdownTable> parse_markdown_tables(std::string_view text) {
  std::vector<MarkdownTable> tables;
  std::string_view previous;
  bool is_inside = false;
  for (std::size_t begin = 0, number = 1; begin < text.size(); ++number) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = text.substr(begin, end - begin);
    begin = end + 1;
    if (!is_inside && is_rule(line) && has_bar(previous)) {
      tables.push_back({cells_of(previous), {}});
      is_inside = true;
    } else if (is_inside && has_bar(line)) {
      tables.back().rows.push_back({number, cells_of(line)});
    } else {
      is_inside = false;
    }
    previous = line;
  }
  return tables;
}

}  // namespace cleave
