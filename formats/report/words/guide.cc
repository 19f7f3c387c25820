// The guide as plain text, chapter by chapter.
#include "formats/report/words/guide.h"

#include "core/base/words.h"

#include <algorithm>
#include <utility>

namespace cleave {

// ---- guide sections ----

namespace {

std::string topic_of(std::string_view title) {
  std::string topic;
  for (const char c : lower_case(title)) {
    if (is_letter(c) || is_digit(c)) topic += c;
    if (c == ' ' || c == '-') topic += '-';
  }
  return topic;
}

// The number of # before a title; 0 for another line.
std::uint8_t level_of(std::string_view line) {
  const std::size_t marks = std::min(line.find_first_not_of('#'), line.size());
  const bool is_title = marks > 0 && marks <= 6 && marks < line.size() && line[marks] == ' ';
  return is_title ? static_cast<std::uint8_t>(marks) : std::uint8_t{0};
}

// The first sentence of the plain text below a title and its rule.
std::string first_sentence(std::string_view section) {
  std::string text = plain_text(section);
  for (int line = 0; line < 3; ++line)
    text.erase(0, std::min(text.find('\n'), text.size() - 1) + 1);
  text.erase(0, std::min(text.find_first_not_of('\n'), text.size()));
  text.erase(std::min(text.find("\n\n"), text.size()));
  std::ranges::replace(text, '\n', ' ');
  for (std::size_t at = 0; at < text.size(); ++at) {
    const bool ends = text[at] == '.' || text[at] == '?' || text[at] == ':';
    if (ends && (at + 1 == text.size() || text[at + 1] == ' ')) return text.substr(0, at + 1);
  }
  return text;
}

// Whether a word of the text begins with `start`, both in lower case.
bool has_word(std::string_view text, std::string_view start) {
  for (std::size_t at = text.find(start); at != text.npos; at = text.find(start, at + 1)) {
    if (at == 0 || !is_letter(text[at - 1])) return true;
  }
  return false;
}

}  // namespace

std::vector<GuideSection> guide_sections(std::string_view markdown) {
  std::vector<GuideSection> sections;
  std::vector<std::size_t> starts;
  bool is_fenced = false;
  for (std::size_t at = 0, end = 0; at < markdown.size(); at = end) {
    const std::size_t line_end = std::min(markdown.find('\n', at), markdown.size());
    const std::string_view line = markdown.substr(at, line_end - at);
    end = line_end + 1;
    if (line.starts_with("```")) is_fenced = !is_fenced;
    const std::uint8_t level = is_fenced ? std::uint8_t{0} : level_of(line);
    if (level < 2) continue;
    const std::string title(line.substr(level + 1U));
    sections.push_back({topic_of(title), title, {}, level, {}});
    starts.push_back(at);
  }
  for (std::size_t i = 0; i < sections.size(); ++i) {
    std::size_t next = i + 1;
    while (next < sections.size() && sections[next].level > sections[i].level) ++next;
    const std::size_t end = next < sections.size() ? starts[next] : markdown.size();
    sections[i].text = markdown.substr(starts[i], end - starts[i]);
    sections[i].says = first_sentence(sections[i].text);
  }
  return sections;
}

std::vector<std::size_t> find_sections(const std::vector<GuideSection>& sections,
                                       const std::vector<std::string>& words) {
  std::string topic;
  std::vector<std::string> wanted;
  for (const std::string& word : words) {
    topic += (topic.empty() ? "" : "-") + topic_of(word);
    std::string text = lower_case(word);
    std::ranges::replace(text, '-', ' ');
    for (std::size_t at = 0, end = 0; at < text.size(); at = end + 1) {
      end = std::min(text.find(' ', at), text.size());
      if (end > at) wanted.push_back(text.substr(at, end - at));
    }
  }
  const auto matches = [&](const auto& text_of) {
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < sections.size(); ++i) {
      std::string text = lower_case(text_of(sections[i]));
      std::ranges::replace(text, '-', ' ');
      const bool has_all = std::ranges::all_of(
          wanted, [&](const std::string& word) { return has_word(text, word); });
      if (has_all) found.push_back(i);
    }
    return found;
  };
  const auto is_topic = [&](const GuideSection& section) { return section.topic == topic; };
  const auto same = std::ranges::find_if(sections, is_topic);
  if (same != sections.end()) return {static_cast<std::size_t>(same - sections.begin())};
  const auto in_titles = matches([](const GuideSection& section) { return section.title; });
  if (in_titles.empty()) {
    return matches([](const GuideSection& section) { return section.text; });
  }
  std::vector<std::size_t> chapters;
  std::ranges::copy_if(in_titles, std::back_inserter(chapters),
                       [&](std::size_t i) { return sections[i].level == 2; });
  return chapters.size() == 1 ? chapters : in_titles;
}

// ---- plain text ----
//
// Steps, line by line: what is between ``` is shown as it is; rows of a table are collected and shown at
// its end; lines of a paragraph or an item are joined.

namespace {

constexpr std::size_t kShownIndent = 4;

// A link's address, in brackets: nothing for a place in the guide, or where the text says it.
std::string address_text(std::string_view text, std::string_view address) {
  if (address.starts_with('#') || text.find(address) != text.npos) return {};
  return " (" + std::string(address) + ")";
}

// Without the marks of links and bold; what is between ` keeps all.
std::string without_marks(std::string_view line) {
  std::string out;
  bool is_code = false;
  for (std::size_t at = 0; at < line.size(); ++at) {
    const std::string_view rest = line.substr(at);
    if (rest[0] == '`') is_code = !is_code;
    if (rest.starts_with("\\|")) continue;
    if (is_code || (rest[0] != '[' && !rest.starts_with("**"))) {
      out += rest[0];
      continue;
    }
    if (rest[0] == '*') {
      ++at;
      continue;
    }
    const std::size_t middle = rest.find("](");
    const std::size_t end = middle == rest.npos ? rest.npos : rest.find(')', middle);
    if (end == rest.npos || rest.find(']') != middle) {
      out += rest[0];
      continue;
    }
    const std::string text = without_marks(rest.substr(1, middle - 1));
    out += text + address_text(text, rest.substr(middle + 2, end - middle - 2));
    at += end;
  }
  return out;
}

// The cells of "| a | b |".
std::vector<std::string> cells_of(std::string_view row) {
  std::vector<std::string> cells;
  std::size_t start = row.find('|') + 1;
  for (std::size_t at = start; at < row.size(); ++at) {
    if (row[at] != '|' || row[at - 1] == '\\') continue;
    std::string_view cell = row.substr(start, at - start);
    while (cell.starts_with(' ')) cell.remove_prefix(1);
    while (cell.ends_with(' ')) cell.remove_suffix(1);
    cells.push_back(without_marks(cell));
    start = at + 1;
  }
  return cells;
}

// The columns that come before the text of an item, "- " or "12. "; 0 for another line.
std::size_t mark_of_item(std::string_view line) {
  if (line.starts_with("- ")) return 2;
  const std::size_t digits = std::min(line.find_first_not_of("0123456789"), line.size());
  return digits > 0 && line.substr(digits).starts_with(". ") ? digits + 2 : 0;
}

class PlainText {
 public:
  explicit PlainText(std::size_t columns) : columns_(columns) {}

  std::string run(std::string_view markdown) {
    for (std::size_t at = 0; at < markdown.size();) {
      const std::size_t end = std::min(markdown.find('\n', at), markdown.size());
      line(markdown.substr(at, end - at));
      at = end + 1;
    }
    end_block();
    out_.erase(out_.find_last_not_of('\n') + 1);
    return out_.empty() ? out_ : out_ + "\n";
  }

 private:
  void line(std::string_view line) {
    if (line.starts_with("```")) {
      end_block();
      fence(line.substr(3));
    } else if (is_fenced_) {
      shown(line);
    } else if (line.empty()) {
      end_block();
      blank();
    } else if (line.starts_with('#')) {
      end_block();
      title(line);
    } else if (line.starts_with('|')) {
      if (rows_.empty()) end_block();
      if (!line.starts_with("| ---")) rows_.push_back(cells_of(line));
    } else if (line.starts_with("    ") && item_ == 0) {
      out_ += std::string(line) + "\n";
    } else {
      if (!rows_.empty()) end_block();
      text_line(line);
    }
  }

  void fence(std::string_view what) {
    is_fenced_ = !is_fenced_;
    if (!is_fenced_) return;
    const std::size_t space = std::min(what.find(' '), what.size());
    are_commands_ = what == "sh" || what == "bash";
    continues_ = false;
    if (space < what.size()) shown(std::string(what.substr(space + 1)) + ":");
  }

  void shown(std::string_view line) {
    const bool is_command = are_commands_ && !continues_ && !line.empty();
    continues_ = line.ends_with('\\');
    out_ += line.empty() ? "\n"
                         : std::string(kShownIndent, ' ') + (is_command ? "$ " : "") +
                               std::string(line) + "\n";
  }

  void title(std::string_view line) {
    const std::size_t level = line.find_first_not_of('#');
    const std::string text = without_marks(line.substr(level + 1));
    out_ += text + "\n" + std::string(text_columns(text), level <= 2 ? '=' : '-') + "\n";
  }

  void text_line(std::string_view line) {
    const std::size_t indent = line.find_first_not_of(' ');
    const std::size_t mark = mark_of_item(line.substr(std::min(indent, line.size())));
    if (mark > 0) {
      end_block();
      indent_ = indent;
      item_ = mark;
    }
    line.remove_prefix(std::min(indent, line.size()));
    paragraph_ += (paragraph_.empty() ? "" : " ") + std::string(line);
  }

  void end_block() {
    if (!paragraph_.empty()) {
      out_ += as_line(without_marks(paragraph_), indent_);
    }
    paragraph_.clear();
    indent_ = item_ = 0;
    if (!rows_.empty()) table();
    rows_.clear();
  }

  void table() {
    const std::size_t columns = rows_[0].size();
    TextTable table(rows_[0], std::vector<Align>(columns, Align::left));
    for (std::size_t i = 1; i < rows_.size(); ++i) {
      rows_[i].resize(columns);
      table.add_row(rows_[i]);
    }
    const std::string text = table.text();
    if (is_narrow(text)) {
      out_ += text;
      return;
    }
    for (std::size_t i = 1; i < rows_.size(); ++i) {
      out_ += as_line(rows_[i][0], 2);
      for (std::size_t cell = 1; cell < columns; ++cell) {
        const std::string label = columns > 2 ? rows_[0][cell] + ": " : "";
        if (!rows_[i][cell].empty()) out_ += as_line(label + rows_[i][cell], 6);
      }
    }
  }

  bool is_narrow(std::string_view text) const {
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = text.find('\n', at);
      if (text_columns(text.substr(at, end - at)) > columns_) return false;
      at = end + 1;
    }
    return true;
  }

  void blank() {
    if (!out_.ends_with("\n\n") && !out_.empty()) out_ += '\n';
  }

  std::size_t columns_;
  std::string out_;
  std::string paragraph_;
  std::size_t indent_ = 0, item_ = 0;  // columns before an item, and of its mark
  std::vector<std::vector<std::string>> rows_;
  bool is_fenced_ = false, are_commands_ = false, continues_ = false;
};

}  // namespace

std::string plain_text(std::string_view markdown, std::size_t columns) {
  return PlainText(columns).run(markdown);
}

}  // namespace cleave
