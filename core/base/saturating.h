// Addition that stops at the greatest value of its type instead of wrapping round.
#pragma once

#include <cstdint>
#include <limits>

namespace cleave {

constexpr std::uint64_t saturating_add(std::uint64_t a, std::uint64_t b) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  return a > kMost - b ? kMost : a + b;
}

}  // namespace cleave
