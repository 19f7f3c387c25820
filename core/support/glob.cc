// Matches globs by remembering the last star only: when the text after it does not match, the star
// takes one more character.
#include "core/support/glob.h"

#include <algorithm>
#include <unordered_set>

namespace cleave {
namespace {

// The position after the UTF-8 character at `at`; in text that is not UTF-8 any byte is a
// character.
std::size_t next_character(std::string_view text, std::size_t at) {
  ++at;
  while (at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U) ++at;
  return at;
}

// The longest run of bytes without * and ?.
std::string_view longest_piece(std::string_view glob) {
  std::string_view longest;
  while (!glob.empty()) {
    const std::string_view piece = glob.substr(0, glob.find_first_of("*?"));
    if (piece.size() > longest.size()) longest = piece;
    glob.remove_prefix(std::min(piece.size() + 1, glob.size()));
  }
  return longest;
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

// The window is the end of a long piece, since globs differ there more often than at the beginning.
void GlobSet::add(std::string_view glob, std::uint32_t id) {
  ++size_;
  std::string_view window = longest_piece(glob);
  if (window.size() > kWidest) window.remove_prefix(window.size() - kWidest);
  if (!window.empty()) widths_ |= 1U << window.size();
  (window.empty() ? without_window_ : by_window_[window]).push_back({glob, id});
}

void GlobSet::match_all(const Globs& globs, std::string_view text,
                        std::vector<std::uint32_t>& ids) {
  for (const Glob& glob : globs) {
    if (glob_match(glob.pattern, text)) ids.push_back(glob.id);
  }
}

std::vector<std::uint32_t> GlobSet::matches(std::string_view text) const {
  std::vector<std::uint32_t> ids;
  match_all(without_window_, text, ids);
  for (std::size_t width = 1; width <= std::min(kWidest, text.size()); ++width) {
    if ((widths_ >> width & 1U) == 0) continue;
    std::unordered_set<std::string_view> seen;
    for (std::size_t at = 0; at + width <= text.size(); ++at) {
      const auto found = by_window_.find(text.substr(at, width));
      if (found == by_window_.end() || !seen.insert(found->first).second) continue;
      match_all(found->second, text, ids);
    }
  }
  std::sort(ids.begin(), ids.end());
  return ids;
}

}  // namespace cleave
