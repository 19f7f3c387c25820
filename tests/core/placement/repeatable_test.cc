// The search gives the same placement for the same problem on every machine. Random problems and the
// answers recorded for them notice a change of any step, also one that is neither better nor worse;
// after a change that is meant, look at the sums before the new answers are recorded.

#include <cmath>
#include <cstdint>
#include <string>

#include "core/placement/placement.h"
#include "tests/catch2.h"
#include "tests/core/digest.h"
#include "tests/core/placement/random_placement.h"

namespace cleave {

namespace {

// Whole microseconds, whose sums do not depend on their order.
PlacementProblem in_whole(PlacementProblem problem) {
  for (auto* const times : {&problem.cpu_us, &problem.acc_us, &problem.crossing_us}) {
    for (double& us : *times) us = std::round(us);
  }
  return problem;
}

// What the search finds for 12 problems: the sums of times, bounds, parts and moves, a digest of all sides.
std::string answers(RandomPlacement wish, const PlacementEffort& effort,
                    Duplex duplex = Duplex::half, std::size_t most_parts = 1000,
                    double cpu_launch_us = 0) {
  double total = 0, bound = 0, moves = 0, launches = 0;
  Digest sides;
  for (std::uint32_t seed = 0; seed < 12; ++seed) {
    wish.seed = seed;
    PlacementProblem problem = in_whole(random_placement(wish));
    problem.duplex = duplex;
    problem.most_parts = most_parts;
    problem.cpu_launch_us = cpu_launch_us;
    const Placement found = find_placement(problem, effort);
    total += found.score.total_us;
    bound += found.bound_us;
    moves += static_cast<double>(found.moves);
    launches += static_cast<double>(found.score.launches);
    sides.add_all(found.sides);
    sides.add(static_cast<std::uint32_t>(found.start));
    sides.add(static_cast<std::uint32_t>(found.proof));
  }
  return six_digits(total) + " bound " + six_digits(bound) + " parts " + six_digits(launches) +
         " moves " + six_digits(moves) + " " + sides.text();
}

constexpr PlacementEffort kLittle = {.looks = 20'000, .most_tried_out = 0};
constexpr PlacementEffort kSome = {.looks = 200'000, .most_tried_out = 0};

TEST_CASE("placements are those recorded, with little effort and with some") {
  const RandomPlacement small = {
      .units = 30, .launch_us = 3, .mean_crossing_us = 3, .residency = Residency::off};
  const RandomPlacement tied = {.units = 60,
                                .launch_us = 2,
                                .mean_crossing_us = 2,
                                .has_ties = true,
                                .residency = Residency::off};
  CHECK(answers(small, kLittle) == "1538 bound 1388 parts 17 moves 3135 8320d2d4");
  CHECK(answers(small, kSome) == "1536 bound 1388 parts 17 moves 31453 f46163ab");
  CHECK(answers(tied, kLittle) == "2831 bound 2646 parts 36 moves 1426 02fe0deb");
  CHECK(answers(tied, kSome) == "2806 bound 2646 parts 37 moves 15810 44ae706f");
  CHECK(answers(tied, kSome, Duplex::half, 2, 1) ==
        "2926 bound 2646 parts 24 moves 15827 e7cfb311");
}

TEST_CASE(
    "placements are those recorded where the accelerator keeps values, and over full-duplex "
    "links") {
  const RandomPlacement kept = {
      .units = 40, .launch_us = 3, .mean_crossing_us = 3, .has_ties = true};
  const RandomPlacement apart = {
      .units = 40, .launch_us = 3, .mean_crossing_us = 3, .residency = Residency::off};
  CHECK(answers(kept, kLittle) == "2005 bound 1959 parts 23 moves 4379 b24334b1");
  CHECK(answers(kept, kSome) == "2002 bound 1959 parts 22 moves 47209 6aeab38a");
  CHECK(answers(kept, kSome, Duplex::full, 3, 2) ==
        "1929 bound 1756.75 parts 23 moves 70853 2c9c32b9");
  CHECK(answers(apart, kLittle, Duplex::full) == "1912 bound 1586.5 parts 25 moves 4491 24394a2f");
  CHECK(answers(apart, kSome, Duplex::full) == "1878 bound 1586.5 parts 26 moves 47219 3240436b");
}

TEST_CASE("placements that are all tried are those recorded") {
  const RandomPlacement wish = {
      .units = 8, .launch_us = 2, .mean_crossing_us = 2, .residency = Residency::off};
  CHECK(answers(wish, {}) == "401 bound 401 parts 10 moves 3200 e9a0b421");
  CHECK(answers(wish, {}, Duplex::full, 1, 2) == "408 bound 408 parts 11 moves 3200 efd956a5");
}

}  // namespace

}  // namespace cleave
