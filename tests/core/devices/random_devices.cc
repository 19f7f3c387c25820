#include "tests/core/devices/random_devices.h"

#include <array>

namespace cleave {

Adjacency random_readers(std::mt19937& random, std::size_t units, double probability) {
  constexpr std::array<double, 3> kProbabilities = {.08, .15, .25};
  Adjacency readers;
  for (std::uint32_t unit = 0; unit < units; ++unit) {
    for (std::uint32_t reader = unit + 1; reader < units; ++reader) {
      const double chance = probability > 0 ? probability : kProbabilities[random() % 3];
      if (fraction(random) < chance) readers.add(reader);
    }
    readers.end_list();
  }
  return readers;
}

}  // namespace cleave
