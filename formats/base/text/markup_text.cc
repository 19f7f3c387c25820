#include "formats/base/text/markup_text.h"

#include <algorithm>

#include "formats/base/text/diagnostic.h"
#include "formats/base/text/text_layout.h"

namespace cleave {
namespace {

constexpr std::string_view kHexDigits = "0123456789ABCDEF";

void add_percent(std::string& text, char c) {
  const auto byte = static_cast<unsigned char>(c);
  text += '%';
  text += kHexDigits[byte >> 4U];
  text += kHexDigits[byte & 15U];
}

}  // namespace

std::string xml_text(std::string_view text) {
  std::string result;
  for (const char c : escaped(text)) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      default:
        result += c;
    }
  }
  return result;
}

std::string xml_lines(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    result += xml_text(text.substr(0, end)) + '\n';
    text.remove_prefix(std::min(end + 1, text.size()));
  }
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
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                          (c >= '0' && c <= '9') ||
                          std::string_view("-._~/").find(c) != std::string_view::npos;
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

}  // namespace cleave
