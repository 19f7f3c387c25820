// Arithmetic on whole numbers that never wraps round.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>

namespace cleave {

// Addition that stops at the greatest value of its type instead of wrapping round.

constexpr std::uint64_t saturating_add(std::uint64_t a, std::uint64_t b) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  return a > kMost - b ? kMost : a + b;
}

// nullopt when the sum is outside the type.
inline std::optional<std::int64_t> checked_sum(std::int64_t a, std::int64_t b) {
  std::int64_t out = 0;
  return __builtin_add_overflow(a, b, &out) ? std::nullopt : std::optional(out);
}

// nullopt when the product is outside the type.
inline std::optional<std::int64_t> checked_product(std::int64_t a, std::int64_t b) {
  std::int64_t out = 0;
  return __builtin_mul_overflow(a, b, &out) ? std::nullopt : std::optional(out);
}

}  // namespace cleave
