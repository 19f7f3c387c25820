// Text: UTF-8, layout, CSV, gzip, markup, words of a shell, messages for CI.
#include "formats/base/text.h"

#include <zlib.h>
#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <new>
#include <string>
#include <utility>

#include <utf8proc.h>

#include "core/base/words.h"
#include "formats/base/faults.h"

namespace cleave {

// ---- utf8 ----

namespace {

unsigned byte_at(std::string_view text, std::size_t i) {
  return static_cast<unsigned char>(text[i]);
}

// What a first byte implies: the number of bytes, and the range of the second one. It is narrower
// than 80..BF where overlong forms, surrogates or numbers past U+10FFFF would begin.
struct Lead {
  std::size_t length;
  unsigned low, high;
};

Lead lead_of(unsigned byte) {
  if (byte < 0x80) return {1, 0, 0};
  if (byte >= 0xC2 && byte <= 0xDF) return {2, 0x80, 0xBF};
  if (byte == 0xE0) return {3, 0xA0, 0xBF};
  if (byte == 0xED) return {3, 0x80, 0x9F};
  if (byte >= 0xE1 && byte <= 0xEF) return {3, 0x80, 0xBF};
  if (byte == 0xF0) return {4, 0x90, 0xBF};
  if (byte >= 0xF1 && byte <= 0xF3) return {4, 0x80, 0xBF};
  if (byte == 0xF4) return {4, 0x80, 0x8F};
  return {0, 0, 0};
}

template <class Word>
bool is_ascii_at(const char* text) {
  constexpr auto kHighBits = static_cast<Word>(0x8080808080808080U);
  Word word = 0;
  std::memcpy(&word, text, sizeof word);
  return (word & kHighBits) == 0;
}

// The number of bytes at the start that are ASCII; at most 7 too few. Models are almost all ASCII:
// whole words are tested, the last one together with bytes before it that were tested already.
std::size_t ascii_prefix(std::string_view text) {
  constexpr std::size_t kWord = sizeof(std::uint64_t), kHalf = sizeof(std::uint32_t);
  const char* const begin = text.data();
  const std::size_t size = text.size();
  std::size_t at = 0;
  while (size - at >= kWord && is_ascii_at<std::uint64_t>(begin + at)) at += kWord;
  if (size - at >= kWord || at == size) return at;
  if (size >= kWord) return is_ascii_at<std::uint64_t>(begin + size - kWord) ? size : at;
  if (size >= kHalf) {
    const bool is_ascii =
        is_ascii_at<std::uint32_t>(begin) && is_ascii_at<std::uint32_t>(begin + size - kHalf);
    return is_ascii ? size : 0;
  }
  while (at < size && byte_at(text, at) < 0x80) ++at;
  return at;
}

// The number of a character, which must be valid.
utf8proc_int32_t code_of(std::string_view character) {
  utf8proc_int32_t code = 0;
  const auto size = static_cast<utf8proc_ssize_t>(character.size());
  utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(character.data()), size, &code);
  return code;
}

}  // namespace

std::size_t utf8_character(std::string_view text) {
  if (text.empty()) return 0;
  const Lead lead = lead_of(byte_at(text, 0));
  if (lead.length <= 1) return lead.length;
  if (text.size() < lead.length) return 0;
  const unsigned second = byte_at(text, 1);
  if (second < lead.low || second > lead.high) return 0;
  for (std::size_t i = 2; i < lead.length; ++i) {
    if ((byte_at(text, i) & 0xC0U) != 0x80U) return 0;
  }
  return lead.length;
}

std::size_t utf8_columns(std::string_view text) {
  const std::size_t length = utf8_character(text);
  if (length <= 1) return 1;
  const utf8proc_property_t& known = *utf8proc_get_property(code_of(text.substr(0, length)));
  const bool is_mark =
      known.category == UTF8PROC_CATEGORY_MN || known.category == UTF8PROC_CATEGORY_ME;
  return is_mark ? 0 : std::max<std::size_t>(known.charwidth, 1);
}

bool is_hidden(std::string_view character) {
  const unsigned first = byte_at(character, 0);
  if (character.size() == 1) return first < 0x20 || first == 0x7F;
  const utf8proc_int32_t code = code_of(character);
  const utf8proc_property_t& known = *utf8proc_get_property(code);
  switch (known.category) {
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
      return true;
    default:
      return known.ignorable || code == 0xFFFE || code == 0xFFFF;
  }
}

std::size_t first_invalid_utf8(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    at += ascii_prefix(text.substr(at));
    if (at == text.size()) break;
    const std::size_t length = utf8_character(text.substr(at));
    if (length == 0) return at;
    at += length;
  }
  return std::string_view::npos;
}

// ---- ci text ----

namespace {

using namespace std::literals;

// What the runner strips from the front of a line: everything Unicode calls white space.
constexpr std::array kBlanks = {
    "\t"sv,     "\v"sv,     "\f"sv,     " "sv,      "\u0085"sv, "\u00a0"sv, "\u1680"sv, "\u2000"sv,
    "\u2001"sv, "\u2002"sv, "\u2003"sv, "\u2004"sv, "\u2005"sv, "\u2006"sv, "\u2007"sv, "\u2008"sv,
    "\u2009"sv, "\u200a"sv, "\u2028"sv, "\u2029"sv, "\u202f"sv, "\u205f"sv, "\u3000"sv, "\ufeff"sv};

std::size_t length_of_blanks(std::string_view line) {
  std::size_t at = 0;
  while (at < line.size()) {
    const std::string_view rest = line.substr(at);
    const auto blank = std::ranges::find_if(
        kBlanks, [&](std::string_view known) { return rest.starts_with(known); });
    if (blank == kBlanks.end()) break;
    at += blank->size();
  }
  return at;
}

bool is_json(std::string_view text) {
  while (text.ends_with('\n')) text.remove_suffix(1);
  return text.starts_with('{') && text.ends_with('}');
}

void add_line(std::string_view line, std::string_view bracket, std::string& out) {
  constexpr std::string_view kOld = "##[";
  const std::size_t blanks = length_of_blanks(line);
  if (line.substr(blanks).starts_with("::")) {
    out += line.substr(0, blanks);
    out += "\\x3a";
    line.remove_prefix(blanks + 1);
  }
  for (std::size_t at = line.find(kOld); at != line.npos; at = line.find(kOld)) {
    out += line.substr(0, at + kOld.size() - 1);
    out += bracket;
    line.remove_prefix(at + kOld.size());
  }
  out += line;
}

}  // namespace

std::string without_ci_commands(std::string_view text) {
  const std::string_view bracket = is_json(text) ? "\\u005b" : "\\x5b";
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of("\r\n"), text.size());
    add_line(text.substr(0, end), bracket, out);
    if (end < text.size()) out += text[end];
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

// ---- csv rows ----

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

// ---- gzip text ----

namespace {

constexpr int kGzip = 15 + 16;  // the largest window, and a header of gzip

std::string base64(std::string_view bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const std::string_view three = bytes.substr(at, 3);
    std::uint32_t word = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      word = word << 8U | (i < three.size() ? static_cast<unsigned char>(three[i]) : 0U);
    }
    for (std::size_t i = 0; i < 4; ++i) {
      text += i <= three.size() ? kDigits[word >> (18U - 6U * i) & 63U] : '=';
    }
  }
  return text;
}

using ZlibRoom = std::array<unsigned char, 1U << 16U>;

// Hands zlib the room for what it makes, and the begin of the text: as much as its counter can hold. Returns how much.
std::size_t give(z_stream& stream, std::string_view text, ZlibRoom& room) {
  constexpr std::size_t kMost = std::numeric_limits<uInt>::max();
  // zlib only reads what it is given.
  stream.next_in = const_cast<unsigned char*>(reinterpret_cast<const unsigned char*>(text.data()));
  stream.avail_in = static_cast<uInt>(std::min(text.size(), kMost));
  stream.next_out = room.data();
  stream.avail_out = static_cast<uInt>(room.size());
  return stream.avail_in;
}

}  // namespace

std::string gzipped(std::string_view text) {
  z_stream stream = {};
  if (::deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzip, 8, Z_DEFAULT_STRATEGY) !=
      Z_OK) {
    throw std::bad_alloc();
  }
  std::string packed;
  ZlibRoom room;
  int done = Z_OK;
  while (done != Z_STREAM_END) {
    const std::size_t given = give(stream, text, room);
    done = ::deflate(&stream, given == text.size() ? Z_FINISH : Z_NO_FLUSH);
    text.remove_prefix(given - stream.avail_in);
    packed.append(reinterpret_cast<const char*>(room.data()), room.size() - stream.avail_out);
  }
  ::deflateEnd(&stream);
  return packed;
}

bool is_gzipped(std::string_view bytes) { return bytes.starts_with("\x1f\x8b"); }

std::optional<std::string> ungzipped(std::string_view bytes, std::size_t most) {
  z_stream stream = {};
  if (::inflateInit2(&stream, kGzip) != Z_OK) throw std::bad_alloc();
  std::string text;
  ZlibRoom room;
  int done = Z_OK;
  while (done == Z_OK && text.size() <= most) {
    const std::size_t given = give(stream, bytes, room);
    done = ::inflate(&stream, Z_NO_FLUSH);
    bytes.remove_prefix(given - stream.avail_in);
    text.append(reinterpret_cast<const char*>(room.data()), room.size() - stream.avail_out);
  }
  ::inflateEnd(&stream);
  if (done != Z_STREAM_END || !bytes.empty() || text.size() > most) return std::nullopt;
  return text;
}

std::string gzip_base64(std::string_view text) { return base64(gzipped(text)); }

// ---- markup text ----

namespace {

constexpr std::string_view kHexDigits = "0123456789ABCDEF";

void add_percent(std::string& text, char c) {
  const auto byte = static_cast<unsigned char>(c);
  text += '%';
  text += kHexDigits[byte >> 4U];
  text += kHexDigits[byte & 15U];
}

}  // namespace

std::string html_text(std::string_view text) {
  std::string safe;
  for (const char c : text) {
    switch (c) {
      case '<':
        safe += "&lt;";
        break;
      case '>':
        safe += "&gt;";
        break;
      case '&':
        safe += "&amp;";
        break;
      case '"':
        safe += "&quot;";
        break;
      default:
        safe += c;
    }
  }
  return safe;
}

std::string xml_text(std::string_view text) { return html_text(escaped(text)); }

std::string xml_lines(std::string_view text) {
  std::string result;
  for (const std::string_view line : split_at(text, '\n')) result += xml_text(line) + '\n';
  return result;
}

std::string xml_attribute(std::string_view name, std::string_view value) {
  return " " + std::string(name) + "=\"" + xml_text(value) + "\"";
}

std::string markdown_text(std::string_view text) {
  constexpr std::string_view kMarkup = "&<>|`*_[]\\~#$^";
  std::string result;
  for (const char c : escaped(text)) {
    if (kMarkup.find(c) == kMarkup.npos) {
      result += c;
    } else {
      result += "&#" + std::to_string(static_cast<int>(c)) + ';';
    }
  }
  return result;
}

std::string markdown_code(std::string_view name) {
  const std::string text = fitted(escaped(name), 80);
  const bool is_plain = !text.empty() && text.find_first_of("`|\\<>&") == text.npos &&
                        text.front() != ' ' && text.back() != ' ';
  return is_plain ? "`" + text + "`" : "<code>" + markdown_text(text) + "</code>";
}

std::string uri_text(std::string_view path) {
  std::string uri = path.starts_with('/') ? "file://" : "";
  for (const char c : path) {
    const bool is_plain =
        is_word_char(c) || std::string_view("-.~/").find(c) != std::string_view::npos;
    if (is_plain) {
      uri += c;
    } else {
      add_percent(uri, c);
    }
  }
  return uri;
}

std::string github_text(std::string_view text, std::string_view special) {
  std::string result;
  for (const char c : escaped(text)) {
    if (special.find(c) == special.npos) {
      result += c;
    } else {
      add_percent(result, c);
    }
  }
  return result;
}

// ---- shell word ----

namespace {

bool is_plain(char c) {
  return is_word_char(c) || std::string_view("-./:=,+@%").find(c) != std::string_view::npos;
}

}  // namespace

std::string shell_word(std::string_view text) {
  bool plain = !text.empty();
  for (const char c : text) plain = plain && is_plain(c);
  if (plain) return std::string(text);
  std::string word = "'";
  for (const char c : text) c == '\'' ? word += "'\\''" : word += c;
  return word + "'";
}

// ---- text layout ----

namespace {

// Ten lines of one word. A name of a model may have 65,536 bytes and no blank.
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

std::string as_line(std::string_view text, std::size_t indent) {
  std::string out(indent, ' ');
  while (!text.empty()) {
    const std::size_t space = std::min(text.find(' '), text.size());
    out += fitted(text.substr(0, space), kLongestWord);
    if (space < text.size()) out += ' ';
    text.remove_prefix(std::min(space + 1, text.size()));
  }
  end_line(out);
  return out;
}

namespace {

// The column in which what continues a line begins: below its text, where a label and a gap come before it; else two
// columns further in.
std::size_t continued_at(std::string_view line, std::size_t indent, std::size_t columns) {
  constexpr std::size_t kMost = 30;  // a longer label is beside its text
  const std::size_t gap = line.find("  ", indent);
  const std::size_t behind = std::min(line.find_first_not_of(' ', gap), line.size());
  const bool is_labelled = gap != line.npos && line.find("  ", behind) == line.npos;
  const std::size_t below = std::min(text_columns(line.substr(0, behind)), kMost);
  for (const std::size_t column : {is_labelled ? below : indent + 2, indent + 2}) {
    if (2 * column <= columns) return column;
  }
  return 0;
}

void wrap_line(std::string_view line, std::size_t columns, std::string& out) {
  if (text_columns(line) <= columns) {
    out.append(line) += '\n';
    return;
  }
  const std::size_t indent = std::min(line.find_first_not_of(' '), line.size());
  const std::size_t rest = continued_at(line, indent, columns);
  std::size_t column = 0, start = 0;
  const auto begin_line = [&](std::size_t at) {
    out.append(at, ' ');
    column = start = at;
  };
  begin_line(2 * indent > columns ? 0 : indent);
  line.remove_prefix(indent);
  while (!line.empty()) {
    const std::size_t space = std::min(line.find(' '), line.size());
    std::string_view word = line.substr(0, space);
    line.remove_prefix(std::min(space + 1, line.size()));
    std::size_t width = text_columns(word);
    if (column > start && column + 1 + width > columns) {
      end_line(out);
      begin_line(rest);
    } else if (column > start) {
      out += ' ';
      ++column;
    }
    for (; column + width > columns; begin_line(rest)) {
      const std::string_view head = first_columns(word, columns - column);
      out += head;
      word.remove_prefix(head.size());
      width = text_columns(word);
      end_line(out);
    }
    out += word;
    column += width;
  }
  end_line(out);
}

}  // namespace

std::string wrapped(std::string_view text, std::size_t columns) {
  std::string out;
  for (const std::string_view line : split_at(text, '\n')) {
    wrap_line(line, std::max<std::size_t>(columns, 4), out);
  }
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

TextTable::TextTable(std::vector<std::string> headings)
    : aligns_(headings.size(), Align::right), rows_{std::move(headings)} {
  aligns_[0] = Align::left;
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
      const std::string& cell = row[i];
      const std::string space = padding(text_columns(cell), widths[i]);
      if (i > 0) line += "  ";
      line += aligns_[i] == Align::left ? cell + space : space + cell;
    }
    end_line(line);
    text += line;
  }
  return text;
}

}  // namespace cleave
