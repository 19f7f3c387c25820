#include "formats/lists/import/markdown_table.h"

#include <algorithm>
#include <utility>

#include "core/base/white_space.h"

namespace cleave {
namespace {

// The text of a cell: a link becomes its text, ` and ** are removed, and an escaped character such
// as \| becomes the character.
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

// "ethos-u85-constraints" of "[Specific](#ethos-u85-constraints)".
std::vector<std::string> links_in(std::string_view line) {
  constexpr std::string_view kOpen = "](#";
  std::vector<std::string> links;
  for (std::size_t at = line.find(kOpen); at != line.npos; at = line.find(kOpen, at + 1)) {
    const std::size_t begin = at + kOpen.size();
    const std::size_t end = line.find(')', begin);
    if (end == line.npos) break;
    links.emplace_back(line.substr(begin, end - begin));
  }
  return links;
}

// The text of a heading; empty for other lines.
std::string_view heading_of(std::string_view line) {
  const std::size_t signs = line.find_first_not_of('#');
  if (signs == 0 || signs == line.npos || line[signs] != ' ') return {};
  return trimmed(line.substr(signs));
}

// The link that Markdown gives a heading.
std::string link_of(std::string_view heading) {
  std::string link;
  for (const char c : heading) {
    if (c >= 'A' && c <= 'Z') {
      link += static_cast<char>(c - 'A' + 'a');
    } else if (c == ' ') {
      link += '-';
    } else if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-') {
      link += c;
    }
  }
  return link;
}

// Calls read(line) for each line.
template <class Read>
void each_line(std::string_view text, Read read) {
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    read(text.substr(begin, end - begin));
    begin = end + 1;
  }
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

// True for a row of dashes such as |---|:--:|.
bool is_rule(std::string_view line) {
  line = trimmed(line);
  return has_bar(line) && line.find('-') != line.npos &&
         line.find_first_not_of("|-: \t") == line.npos;
}

}  // namespace

std::vector<MarkdownSection> parse_markdown_sections(std::string_view text) {
  constexpr std::string_view kExceptions = "Exceptions:";
  std::vector<MarkdownSection> sections;
  std::string_view heading;
  each_line(text, [&](std::string_view line) {
    if (const std::string_view found = heading_of(line); !found.empty()) heading = found;
    const std::string_view item = trimmed(line);
    if (heading.empty() || !item.starts_with("- ")) return;
    const std::string_view content = trimmed(item.substr(2));
    if (line.front() == '-') {
      const std::string link = link_of(heading);
      if (sections.empty() || sections.back().link != link) sections.push_back({link, {}});
      sections.back().items.push_back({plain_text(content), {}});
    } else if (sections.empty() || sections.back().items.empty()) {
      return;
    } else if (content.starts_with(kExceptions)) {
      std::string name;
      for (const char c : content.substr(kExceptions.size())) {
        if (c == '[' || c == ' ') continue;
        if (c != ',' && c != ']') {
          name += c;
        } else if (!name.empty()) {
          sections.back().items.back().except.push_back(std::exchange(name, {}));
        }
      }
    } else {
      sections.back().items.back().text += " - " + plain_text(content);
    }
  });
  return sections;
}

std::vector<MarkdownTable> parse_markdown_tables(std::string_view text) {
  std::vector<MarkdownTable> tables;
  std::string_view previous, heading;
  bool is_inside = false;
  std::size_t number = 0;
  each_line(text, [&](std::string_view line) {
    ++number;
    if (const std::string_view found = heading_of(line); !found.empty()) heading = found;
    if (!is_inside && is_rule(line) && has_bar(previous)) {
      tables.push_back({plain_text(heading), cells_of(previous), {}});
      is_inside = true;
    } else if (is_inside && has_bar(line)) {
      tables.back().rows.push_back({number, cells_of(line), links_in(line)});
    } else {
      is_inside = false;
    }
    previous = line;
  });
  return tables;
}

}  // namespace cleave
