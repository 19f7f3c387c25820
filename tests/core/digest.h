// Results of searches as short texts, to be compared with those recorded.
#pragma once

#include <array>
#include <cstdint>
#include <cstdio>
#include <string>

namespace cleave {

// Eight digits that differ for different lists.
class Digest {
 public:
  void add(std::uint32_t item) { hash_ = (hash_ ^ item) * 16777619U; }
  template <class List>
  void add_all(const List& list) {
    for (const auto item : list) add(static_cast<std::uint32_t>(item));
  }
  std::string text() const {
    std::array<char, 16> text{};
    std::snprintf(text.data(), text.size(), "%08x", hash_);
    return text.data();
  }

 private:
  std::uint32_t hash_ = 2166136261U;
};

inline std::string six_digits(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.6g", value);
  return text.data();
}

}  // namespace cleave
