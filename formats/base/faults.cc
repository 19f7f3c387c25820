// Diagnostics, and limits of input.
#include "formats/base/faults.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <vector>

#include "core/base/words.h"
#include "formats/base/text.h"

namespace cleave {

// ---- limits ----

namespace {

// Ids are 32 bits wide, and so are the tables of what nodes read and make.
constexpr std::uint64_t kMostIds = 4'000'000'000;
// Far above any file system, and the sum of two offsets still fits 64 bits.
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 62U;

constexpr std::array<LimitRow, 7> kRows = {{
    {"nodes", &ModelLimits::nodes, kMostIds, "nodes"},
    {"values", &ModelLimits::values, kMostIds, "values that nodes read and make"},
    {"attributes", &ModelLimits::attributes, kMostIds, "attributes"},
    {"dims", &ModelLimits::dims, kMostIds, "dims"},
    {"depth", &ModelLimits::depth, 1000, "levels of nesting"},
    {"name-bytes", &ModelLimits::name_bytes, kMostIds, "bytes"},
    {"file-bytes", &ModelLimits::file_bytes, kMostBytes, "bytes"},
}};

constexpr std::string_view kUtf8 = "utf8";

const LimitRow& row_of(std::uint64_t ModelLimits::*limit) {
  return *std::ranges::find(kRows, limit, &LimitRow::value);
}

std::string unknown_limit(std::string_view name) {
  std::vector<std::string_view> names;
  for (const LimitRow& row : kRows) names.push_back(row.name);
  names.push_back(kUtf8);
  const std::string nearest = nearest_name(name, names);
  return escaped_in_quotes(name) + " is not a limit: " +
         (nearest.empty() ? "there are " + joined(names) : "did you mean " + nearest + "?");
}

Status<std::string> set_utf8(ModelLimits& limits, std::string_view word) {
  if (word != "strict" && word != "lenient")
    return escaped_in_quotes(word) + " is not strict or lenient";
  limits.names = word == "strict" ? NameBytes::utf8 : NameBytes::any;
  return Done{};
}

}  // namespace

std::span<const LimitRow> limit_rows() { return kRows; }

Status<std::string> set_limit(ModelLimits& limits, std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == text.npos) return escaped_in_quotes(text) + " is not of the form nodes=5000000";
  const std::string_view name = text.substr(0, equals), number = text.substr(equals + 1);
  if (name == kUtf8) return set_utf8(limits, number);
  const auto row = std::ranges::find(kRows, name, &LimitRow::name);
  if (row == kRows.end()) return unknown_limit(name);
  const auto value = parse_number<std::uint64_t>(number);
  if (!value) {
    return escaped_in_quotes(number) + " is not a limit of " + std::string(name) +
           ": give a whole number";
  }
  if (*value > row->most) {
    return std::string(number) + " is above the most that " + std::string(name) +
           " can be limited to, " + count_text(row->most);
  }
  limits.*row->value = *value;
  return Done{};
}

std::string limit_hint(std::uint64_t ModelLimits::*limit) {
  return "--limit " + std::string(row_of(limit).name) + "=N sets the most that is read";
}

std::string beyond_limit(const ModelLimits& limits, std::uint64_t ModelLimits::*limit) {
  return "more than " + count_text(limits.*limit) + " " + std::string(row_of(limit).what) + "; " +
         limit_hint(limit);
}

// ---- diagnostic ----

namespace {

// A name of a model may have 65,536 bytes, and a file of JSON may be one line. What is shown fits a
// terminal; 200 characters of a name are enough to find it.
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
  constexpr std::array<std::string_view, 3> kWords = {"error", "warning", "note"};
  return kWords[static_cast<std::size_t>(severity)];
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

// ---- faults ----

namespace {

// What is wrong in one node is mostly wrong in all of them. Readers stop when it is reached
// (is_full), so that a broken file of gigabytes is refused soon.
constexpr std::size_t kMostFaults = 20;

}  // namespace

bool TextFaults::refuses_bytes(std::string_view what_is) {
  const std::size_t bad = std::min(text_.find('\0'), first_invalid_utf8(text_));
  if (bad != text_.npos) error(bad, std::string(what_is) + " text in UTF-8, and this is not");
  return bad != text_.npos;
}

void TextFaults::error(std::size_t offset, std::string message, std::vector<std::string> notes) {
  if (is_full()) return;
  errors_.push_back(diagnostic_at(file_, text_, offset, std::move(message)));
  errors_.back().notes = std::move(notes);
}

void TextFaults::warning(std::size_t offset, std::string message) {
  if (warnings_.size() >= kMostFaults || !warned_.insert(message).second) return;
  warnings_.push_back(diagnostic_at(file_, text_, offset, std::move(message)));
  warnings_.back().severity = Severity::warning;
}

bool TextFaults::is_full() const { return errors_.size() >= kMostFaults; }

}  // namespace cleave
