// Sums and products of integers that never wrap round.
#pragma once

#include <cstdint>
#include <optional>

namespace cleave {

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
