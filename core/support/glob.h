// Globs: patterns with * and ?, as rules use them for ops and node names.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace cleave {

// True when the text matches the pattern: * matches any run of characters, ? any one character.
// Linear for patterns with one star, |pattern| x |text| at worst; no recursion.
bool glob_match(std::string_view pattern, std::string_view text);

// True when the pattern contains a * or a ?.
bool is_glob(std::string_view pattern);

// GlobSet: finds which of many globs match a text. Each glob has a window: some bytes that every
// text that it matches contains.
//
//   glob          window        texts that it is tried on
//   *q12*         q12           those with q12 in them
//   torch.*       torch.        those with torch. in them
//   a*layernorm   layernorm     those with layernorm in them
//   *             none          all
class GlobSet {
 public:
  // The glob must outlive the set. Ids can be any numbers that differ within the set.
  void add(std::string_view glob, std::uint32_t id);
  bool empty() const { return size_ == 0; }

  // The ids of the globs that match the text, ascending. O(text), and a match for each glob whose
  // window is in the text.
  std::vector<std::uint32_t> matches(std::string_view text) const;

 private:
  struct Glob {
    std::string_view pattern;
    std::uint32_t id;
  };
  using Globs = std::vector<Glob>;

  static constexpr std::size_t kWidest = 16;

  static void match_all(const Globs& globs, std::string_view text, std::vector<std::uint32_t>& ids);

  std::size_t size_ = 0;
  Globs without_window_;
  std::unordered_map<std::string_view, Globs> by_window_;
  std::uint32_t widths_ = 0;  // of windows; bit i: i bytes
};

}  // namespace cleave
