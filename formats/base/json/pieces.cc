#include "formats/base/json/pieces.h"

#include "core/base/decimal.h"
#include "formats/base/text/diagnostic.h"
#include "formats/base/text/utf8.h"

#include <cmath>

namespace cleave {
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
