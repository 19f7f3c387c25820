// Matches globs by remembering the last star only: when the text after it does not match, the star
// takes one more character.
#include "core/support/glob.h"

namespace cleave {
namespace {

// The position after the UTF-8 character at `at`; in text that is not UTF-8 any byte is a
// character.
std::size_t next_character(std::string_view text, std::size_t at) {
  ++at;
  while (at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U) ++at;
  return at;
}

}  // namespace

bool is_glob(std::string_view pattern) { return pattern.find_first_of("*?") != pattern.npos; }

bool glob_match(std::string_view pattern, std::string_view text) {
  constexpr std::size_t kNoStar = std::string_view::npos;
  std::size_t p = 0;
  std::size_t t = 0;
  std::size_t star = kNoStar;
  std::size_t star_end = 0;  // end of the text that the star matches
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      star_end = t;
    } else if (p < pattern.size() && pattern[p] == '?') {
      ++p;
      t = next_character(text, t);
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p;
      ++t;
    } else if (star != kNoStar) {
      p = star + 1;
      star_end = next_character(text, star_end);
      t = star_end;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace cleave
