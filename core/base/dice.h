// Pseudo-random numbers for searches that must give the same result on every machine.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cleave {

// A linear congruential generator with Knuth's constants for MMIX. The standard library's
// distributions may differ between implementations, so none is used.
class Dice {
 public:
  // From 0 to `bound` - 1; `bound` is at least 1 and fits 32 bits.
  std::uint32_t below(std::size_t bound) {
    state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<std::uint32_t>((state_ >> 33U) % bound);
  }

 private:
  std::uint64_t state_ = 1;
};

}  // namespace cleave
