#include "formats/base/text/ci_text.h"

#include <algorithm>
#include <array>

namespace cleave {
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
    const auto blank = std::find_if(kBlanks.begin(), kBlanks.end(), [&](std::string_view known) {
      return rest.starts_with(known);
    });
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

}  // namespace cleave
