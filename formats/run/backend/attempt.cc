#include "formats/run/backend/attempt.h"

#include <algorithm>
#include <array>

#include "core/lowering/oracle.h"
#include "formats/base/text/diagnostic.h"
#include "formats/base/text/text_layout.h"

namespace cleave {

bool tells_of_busy(std::string_view message) {
  constexpr std::array<std::string_view, 6> kSigns = {
      "is busy",       "device busy", "resource busy", "EBUSY", "in use by another process",
      "already in use"};
  return std::any_of(kSigns.begin(), kSigns.end(),
                     [&](std::string_view sign) { return message.find(sign) != message.npos; });
}

std::string verdict_words(const Attempt& attempt) {
  std::string text(verdict_name(attempt.verdict));
  if (attempt.detail.empty()) return text;
  if (attempt.verdict == LowerVerdict::crashed) text += " (" + attempt.detail + ")";
  if (attempt.verdict == LowerVerdict::timed_out) text += " after " + attempt.detail;
  return text;
}

namespace {

// The message without the place of a panic in Rust, "thread 'main' panicked at src/lib.rs:1:2:".
std::string_view after_panic(std::string_view message) {
  const std::size_t end = message.find('\n');
  if (message.rfind("thread '", 0) != 0 || end == message.npos || end + 1 == message.size()) {
    return message;
  }
  const bool is_panic = message.substr(0, end).find(" panicked at ") != message.npos;
  return is_panic ? message.substr(end + 1) : message;
}

// The line that says what is wrong.
std::string line_of(std::string_view message) {
  std::string line = essential_lines(after_panic(message));
  if (line.empty()) line = message.substr(0, message.find('\n'));  // a traceback that is cut off
  return line;
}

// The length of the path to a file in a temporary folder of cleave that the text begins with; 0 for none.
std::size_t temporary_path(std::string_view text) {
  if (!text.starts_with('/')) return 0;
  const std::size_t end = std::min(text.find_first_of(" \t'\"`:,;()<>[]"), text.size());
  return text.substr(0, end).find("/.cleave-") == text.npos ? 0 : end;
}

// The length of the address that the text begins with; 0 for none.
std::size_t address(std::string_view text) {
  constexpr std::size_t kLeastDigits = 6;
  if (!text.starts_with("0x")) return 0;
  const std::size_t end =
      std::min(text.find_first_not_of("0123456789abcdefABCDEF", 2), text.size());
  return end < 2 + kLeastDigits ? 0 : end;
}

}  // namespace

std::string first_line(std::string_view message, std::size_t columns) {
  return fitted(escaped(line_of(message)), columns);
}

std::string lasting_line(std::string_view message, std::size_t columns) {
  const std::string line = line_of(message);
  std::string_view rest =
      std::string_view(line).substr(0, 8 * columns);  // before it is cut to columns
  std::string text;
  while (!rest.empty()) {
    if (const std::size_t path = temporary_path(rest); path > 0) {
      text += "{model}";
      rest.remove_prefix(path);
    } else if (const std::size_t digits = address(rest); digits > 0) {
      text += "0x...";
      rest.remove_prefix(digits);
    } else {
      text += rest.front();
      rest.remove_prefix(1);
    }
  }
  return fitted(escaped(text), columns);
}

}  // namespace cleave
