#include "tests/fuzz/mutator.h"

#include <algorithm>

namespace cleave::fuzz {
namespace {

constexpr std::size_t kLongestPiece = 64;
constexpr std::size_t kMostChanges = 8;
constexpr std::size_t kLongestInput = 1U << 16U;

}  // namespace

std::string Mutator::piece_of(const std::string& text) {
  const std::size_t begin = place(text);
  return text.substr(begin, 1 + below(kLongestPiece));
}

void Mutator::change(std::string& text) {
  const std::size_t at = place(text);
  switch (below(8)) {
    case 0:
      if (at < text.size()) text[at] = static_cast<char>(below(256));
      return;
    case 1:
      if (at < text.size()) text[at] = static_cast<char>(text[at] ^ (1 << below(8)));
      return;
    case 2:
      text.insert(at, 1 + below(4), static_cast<char>(below(256)));
      return;
    case 3:
      text.erase(at, 1 + below(kLongestPiece));
      return;
    case 4:
      text.insert(at, piece_of(text));
      return;
    case 5:
      if (!seeds_.empty()) text.insert(at, piece_of(seeds_[below(seeds_.size())]));
      return;
    case 6:
      text.resize(at);
      return;
    default:
      if (words_.empty()) return;
      const std::string& word = words_[below(words_.size())];
      if (below(2) == 0) text.erase(at, word.size());
      text.insert(at, word);
  }
}

std::string Mutator::input(std::uint64_t number) {
  rng_.seed(number * 0x9E3779B97F4A7C15U + 1);
  std::string text = seeds_.empty() ? std::string(below(256), '\0') : seeds_[below(seeds_.size())];
  if (seeds_.empty()) {
    for (char& c : text) c = static_cast<char>(below(256));
  }
  for (std::size_t changes = 1 + below(kMostChanges); changes > 0; --changes) change(text);
  if (text.size() > kLongestInput) text.resize(kLongestInput);
  return text;
}

}  // namespace cleave::fuzz
