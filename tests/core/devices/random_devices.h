// Random graphs of units on several devices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>

#include "core/base/adjacency.h"

namespace cleave {

// A number from 0 to 1, the same on every machine.
inline double fraction(std::mt19937& random) {
  return static_cast<double>(random() % 10'000) / 10'000;
}

// Each unit reads from each earlier one with the given probability, or one of .08, .15 and .25.
Adjacency random_readers(std::mt19937& random, std::size_t units, double probability = 0);

}  // namespace cleave
