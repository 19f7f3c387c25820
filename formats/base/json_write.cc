// Writes JSON.

#include <array>
#include <cassert>
#include <charconv>
#include <cmath>
#include <utility>

#include "core/base/words.h"
#include "formats/base/faults.h"
#include "formats/base/json.h"
#include "formats/base/text.h"

namespace cleave {

// ---- text ----

namespace {

constexpr std::size_t kPiece = std::size_t{1} << 20U;  // bytes that are handed over at a time

bool is_plain(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= 0x20 && byte < 0x7F && c != '"' && c != '\\';
}

// The escape of one character below U+0080.
void append_escape(std::string& to, char c) {
  constexpr std::string_view kNamed = "\"\\\b\f\n\r\t";
  constexpr std::string_view kLetters = "\"\\bfnrt";
  constexpr std::string_view kDigits = "0123456789abcdef";
  if (const std::size_t at = kNamed.find(c); at != kNamed.npos) {
    to += '\\';
    to += kLetters[at];
    return;
  }
  const auto byte = static_cast<unsigned char>(c);
  to += "\\u00";
  to += kDigits[byte >> 4U];
  to += kDigits[byte & 15U];
}

}  // namespace

void JsonText::begin(char bracket, Layout layout) {
  separate();
  out_ += bracket;
  const bool on_one_line =
      layout == Layout::one_line || (!levels_.empty() && levels_.back().on_one_line);
  levels_.push_back({on_one_line});
}

void JsonText::end(char bracket) {
  assert(!levels_.empty() && !after_key_);
  const Level level = levels_.back();
  levels_.pop_back();
  if (!level.is_empty && !level.on_one_line) new_line();
  out_ += bracket;
}

void JsonText::new_line() {
  out_ += '\n';
  out_.append(levels_.size(), ' ');
}

// Writes what precedes a key, or a value without one.
void JsonText::separate() {
  if (out_.size() >= kPiece && take_) {
    take_(out_);
    out_.clear();
  }
  if (std::exchange(after_key_, false) || levels_.empty()) return;
  Level& level = levels_.back();
  if (!level.is_empty) out_ += level.on_one_line ? ", " : ",";
  level.is_empty = false;
  if (!level.on_one_line) new_line();
}

void JsonText::key(std::string_view name) {
  separate();
  append_quoted(name);
  out_ += ": ";
  after_key_ = true;
}

void JsonText::text(std::string_view value) {
  separate();
  append_quoted(value);
}

void JsonText::append_quoted(std::string_view text) {
  out_ += '"';
  std::size_t at = 0;
  while (at < text.size()) {
    std::size_t end = at;
    while (end < text.size() && is_plain(text[end])) ++end;
    out_ += text.substr(at, end - at);
    at = end;
    if (at == text.size()) break;
    const std::size_t length = utf8_character(text.substr(at));
    if (length == 1) {
      append_escape(out_, text[at]);
    } else if (length > 1) {
      out_ += text.substr(at, length);
    } else {
      out_ += "\\ufffd";
    }
    at += length > 0 ? length : 1;
  }
  out_ += '"';
}

void JsonText::flag(bool value) {
  separate();
  out_ += value ? "true" : "false";
}

void JsonText::null() {
  separate();
  out_ += "null";
}

void JsonText::number(double value) {
  if (!std::isfinite(value)) return null();
  constexpr double kWhole = 1e15;  // below it doubles represent every whole number
  if (std::fabs(value) < kWhole && value == std::trunc(value)) {
    return number(static_cast<std::int64_t>(value));
  }
  separate();
  std::array<char, 32> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
  out_.append(buffer.data(), end);
}

void JsonText::document(std::string_view json) {
  separate();
  while (!json.empty() && json.back() == '\n') json.remove_suffix(1);
  while (!json.empty()) {
    const std::size_t end = json.find('\n');  // JSON strings contain no line break
    out_ += json.substr(0, end);
    if (end == json.npos) return;
    new_line();
    json.remove_prefix(end + 1);
  }
}

std::string JsonText::finish() && {
  assert(levels_.empty());
  out_ += '\n';
  if (!take_) return std::move(out_);
  take_(out_);
  return {};
}

// ---- pieces ----

namespace {

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

std::string escape_of(char c) {
  constexpr std::string_view kCharacters = "\"\\\b\f\n\r\t";
  constexpr std::string_view kLetters = "\"\\bfnrt";
  constexpr std::string_view kDigits = "0123456789abcdef";
  const std::size_t known = kCharacters.find(c);
  if (known != kCharacters.npos) return {'\\', kLetters[known]};
  const auto byte = static_cast<unsigned char>(c);
  return std::string("\\u00") + kDigits[byte >> 4U] + kDigits[byte & 15U];
}

// The offset after the string whose opening quote is at `at`.
std::size_t behind_string(std::string_view text, std::size_t at) {
  for (++at; at < text.size() && text[at] != '"'; ++at) {
    if (text[at] == '\\') ++at;
  }
  return at + 1;
}

bool opens(char c) { return c == '{' || c == '['; }
bool closes(char c) { return c == '}' || c == ']'; }

}  // namespace

std::string json_string(std::string_view text) {
  if (first_invalid_utf8(text) != text.npos) return json_string(escaped(text));
  std::string out = "\"";
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == '"' || c == '\\') {
      out += escape_of(c);
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string json_real(double number) {
  if (!std::isfinite(number)) return "null";
  std::string text = shortest_text(number);
  if (text.find_first_of(".e") == text.npos) text += ".0";
  return text;
}

std::string json_list(const std::vector<std::string>& items) {
  std::string text = "[";
  for (const std::string& item : items) {
    if (text.size() > 1) text += ", ";
    text += item;
  }
  return text + ']';
}

void JsonObjectText::add(std::string_view key, std::string_view json) {
  if (!text_.empty()) text_ += ", ";
  text_ += json_string(key);
  text_ += ": ";
  text_ += json;
}

std::string json_on_one_line(std::string_view json) {
  const bool has_breaks = json.find('\n') != json.npos || json.find('\r') != json.npos;
  if (!has_breaks) return std::string(json);
  std::string out;
  out.reserve(json.size());
  for (std::size_t at = 0; at < json.size();) {
    if (json[at] == '"') {
      const std::size_t end = behind_string(json, at);
      out += json.substr(at, end - at);
      at = end;
      continue;
    }
    std::size_t end = at;
    bool has_break = false;
    while (end < json.size() && is_space(json[end])) {
      has_break |= json[end] == '\n' || json[end] == '\r';
      ++end;
    }
    if (end == at) {
      out += json[at++];
      continue;
    }
    const bool is_inside = end < json.size() && !out.empty() && !opens(out.back());
    if (!has_break) {
      out += json.substr(at, end - at);
    } else if (is_inside && !closes(json[end])) {
      out += ' ';
    }
    at = end;
  }
  return out;
}

}  // namespace cleave
