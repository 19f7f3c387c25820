#include "formats/base/text/diagnostic.h"

#include "core/base/spelling.h"
#include "formats/base/text/text_layout.h"
#include "formats/base/text/utf8.h"

#include <algorithm>
#include <cstdint>

namespace cleave {
namespace {

constexpr std::size_t kLineColumns = 100;
constexpr std::size_t kQuotedCharacters = 200;

void append_escaped(std::string& to, std::string_view bytes) {
  static constexpr std::string_view kDigits = "0123456789ABCDEF";
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    to += "\\x";
    to += kDigits[byte >> 4U];
    to += kDigits[byte & 15U];
  }
}

// A character of the text, or one byte that is not part of one.
struct Piece {
  std::string_view bytes;
  bool is_valid;
};

Piece first_piece(std::string_view text) {
  const std::size_t length = utf8_character(text);
  return {text.substr(0, std::max<std::size_t>(length, 1)), length > 0};
}

std::uint64_t count_characters(std::string_view text) {
  std::uint64_t count = 0;
  for (std::size_t at = 0; at < text.size(); at += first_piece(text.substr(at)).bytes.size()) {
    ++count;
  }
  return count;
}

// The line around `offset` without its line break, and the offset where it begins.
struct Line {
  std::string_view text;
  std::uint64_t begin;
};

Line line_at(std::string_view text, std::uint64_t offset) {
  const std::size_t before = offset == 0 ? text.npos : text.rfind('\n', offset - 1);
  const std::size_t begin = before == text.npos ? 0 : before + 1;
  const std::size_t end = std::min(text.find('\n', offset), text.size());
  std::string_view line = text.substr(begin, end - begin);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return {line, begin};
}

struct Shown {
  std::string text;
  std::uint64_t caret;
};

std::string shown(std::string_view text) {
  std::string out = escaped(text);
  for (std::size_t tab = out.find("\\x09"); tab != out.npos; tab = out.find("\\x09", tab)) {
    out.replace(tab, 4, " ");
  }
  return out;
}

// The columns of a character when a text is cut: a mark takes one, so that bytes are limited, too.
std::size_t cut_columns(std::string_view text) {
  return std::max<std::size_t>(utf8_columns(text), 1);
}

// A prefix of the text with at most `columns` columns, and not many more bytes than it shows.
std::string_view cut_end(std::string_view text, std::size_t columns) {
  std::size_t at = 0;
  for (std::size_t seen = 0; at < text.size(); at += first_piece(text.substr(at)).bytes.size()) {
    seen += cut_columns(text.substr(at));
    if (seen > columns) break;
  }
  return text.substr(0, at);
}

// A suffix of the text with at most `columns` columns; starts at a character.
std::string_view cut_start(std::string_view text, std::size_t columns) {
  std::size_t at = text.size();
  for (std::size_t seen = 0; at > 0;) {
    std::size_t before = at - 1;
    for (int i = 0;
         i < 3 && before > 0 && (static_cast<unsigned char>(text[before]) & 0xC0U) == 0x80U; ++i) {
      --before;
    }
    seen += cut_columns(text.substr(before));
    if (seen > columns) break;
    at = before;
  }
  return text.substr(at);
}

// The columns that cut_end() and cut_start() count.
std::size_t count_columns(std::string_view text) {
  std::size_t columns = 0;
  for (std::size_t at = 0; at < text.size(); at += first_piece(text.substr(at)).bytes.size()) {
    columns += cut_columns(text.substr(at));
  }
  return columns;
}

// The line for display; when it must be cut, the position is in the middle.
Shown show_line(std::string_view line, std::size_t place) {
  constexpr std::string_view kCut = "...";
  constexpr std::size_t kHalf = kLineColumns / 2 - kCut.size();
  std::string_view before = line.substr(0, place);
  std::string_view after = line.substr(place);
  if (cut_end(line, kLineColumns).size() < line.size()) {
    before = cut_start(before, 2 * kHalf - count_columns(cut_end(after, kHalf)));
    after = cut_end(after, 2 * kHalf - count_columns(before));
  }
  std::string text = before.size() < place ? std::string(kCut) : std::string();
  text += shown(before);
  const std::uint64_t caret = text_columns(text) + 1;
  text += shown(after);
  if (place + after.size() < line.size()) text += kCut;
  return {std::move(text), caret};
}

}  // namespace

std::string_view severity_name(Severity severity) {
  switch (severity) {
    case Severity::error:
      return "error";
    case Severity::warning:
      return "warning";
    case Severity::note:
      return "note";
  }
  return "error";
}

std::string escaped(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Piece piece = first_piece(text);
    if (!piece.is_valid || is_hidden(piece.bytes)) {
      append_escaped(out, piece.bytes);
    } else {
      out += piece.bytes;
    }
    text.remove_prefix(piece.bytes.size());
  }
  return out;
}

std::string escaped_lines(std::string_view text) {
  std::string lines;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines += escaped(text.substr(at, end - at));
    if (end < text.size()) lines += '\n';
    at = end + 1;
  }
  return lines;
}

std::string escaped_in_quotes(std::string_view text) {
  const std::string_view start = cut_end(text, kQuotedCharacters);
  std::string out = "\"" + escaped(start);
  if (start.size() < text.size()) out += "...";
  return out + "\"";
}

std::string format_diagnostic(const Diagnostic& diagnostic) {
  std::string out = escaped(diagnostic.file);
  if (diagnostic.line > 0) {
    out += ':' + std::to_string(diagnostic.line) + ':' + std::to_string(diagnostic.column);
  }
  if (!out.empty()) out += ": ";
  out += severity_name(diagnostic.severity);
  out += ": " + escaped(diagnostic.message) + '\n';
  if (!diagnostic.source_line.empty()) {
    out += "    " + diagnostic.source_line + '\n';
    if (diagnostic.caret > 0) out += std::string(diagnostic.caret + 3, ' ') + "^\n";
  }
  for (const std::string& note : diagnostic.notes) out += "note: " + escaped(note) + '\n';
  return out;
}

Diagnostic diagnostic_of(std::string_view file, std::string message) {
  Diagnostic diagnostic;
  diagnostic.file = file;
  diagnostic.message = std::move(message);
  return diagnostic;
}

Diagnostic diagnostic_at(std::string_view file, std::string_view text, std::uint64_t offset,
                         std::string message) {
  offset = std::min<std::uint64_t>(offset, text.size());
  const Line line = line_at(text, offset);
  const std::size_t place = std::min<std::size_t>(offset - line.begin, line.text.size());
  Diagnostic diagnostic = diagnostic_of(file, std::move(message));
  const auto breaks = std::count(text.data(), text.data() + line.begin, '\n');
  diagnostic.line = static_cast<std::uint64_t>(breaks) + 1;
  diagnostic.column = count_characters(line.text.substr(0, place)) + 1;
  Shown shown_line = show_line(line.text, place);
  if (!line.text.empty()) {
    diagnostic.source_line = std::move(shown_line.text);
    diagnostic.caret = shown_line.caret;
  }
  return diagnostic;
}

std::string nearest_name(std::string_view name, const std::vector<std::string_view>& candidates) {
  NearestName nearest(name);
  for (const std::string_view candidate : candidates) nearest.offer(candidate);
  return std::string(nearest.best());
}

}  // namespace cleave
