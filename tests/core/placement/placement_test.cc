#include "core/placement/placement.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "core/base/base.h"
#include "tests/catch2.h"
#include "tests/core/placement/random_placement.h"

namespace cleave {

namespace {

// Graphs of all kinds: with and without launches, ties and residency, links cheap and dear.
RandomPlacement any_wish(std::uint32_t seed, std::size_t units) {
  return {.seed = seed,
          .units = units,
          .launch_us = (seed % 4) * 4.0,
          .mean_crossing_us = seed % 5 == 0 ? 1.0 : 4.0,
          .has_ties = seed % 3 == 0,
          .residency = seed % 2 == 0 ? Residency::off : Residency::on};
}

TEST_CASE("A placement is at most 2% above the best of all, and the bound never above it") {
  for (std::uint32_t seed = 0; seed < 150; ++seed) {
    const PlacementProblem problem = random_placement(any_wish(seed, seed < 140 ? 8 : 13));
    const Placement found = find_placement(problem);
    const double least = least_time(problem);
    INFO("seed " << seed);
    CHECK(found.score.total_us <= 1.02 * least);
    CHECK(found.bound_us <= least * (1 + 1e-9));
    if (found.proof != PlacementProof::none) {
      CHECK(found.score.total_us <= least * (1 + 1e-9));
      CHECK(found.bound_us == Approx(found.score.total_us));
    }
  }
}

TEST_CASE("The local search alone rarely misses the best placement") {
  int missed = 0;
  double sum = 0;
  for (std::uint32_t seed = 0; seed < 150; ++seed) {
    const PlacementProblem problem = random_placement(any_wish(seed, 8));
    const Placement found = find_placement(problem, {.most_tried_out = 0});
    const double ratio = found.score.total_us / least_time(problem);
    sum += ratio;
    missed += ratio > 1.02 ? 1 : 0;
  }
  CHECK(missed <= 3);
  CHECK(sum / 150 < 1.005);
}

TEST_CASE("A score is the time that running the placement takes") {
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    const PlacementProblem problem = random_placement(any_wish(seed, 12));
    PlacementScorer scorer(problem);
    Sides sides(12);
    for (std::uint32_t unit = 0; unit < 12; ++unit) sides[unit] = seed >> (unit % 8) & 1U;
    INFO("seed " << seed);
    CHECK(scorer.score(sides).total_us == Approx(plain_time(problem, sides)).epsilon(1e-12));
  }
}

TEST_CASE("The time after a change is that of scoring the changed placement anew") {
  for (std::uint32_t seed = 0; seed < 100; ++seed) {
    RandomPlacement wish = any_wish(seed, 5 + seed % 30);
    wish.residency = Residency::off;
    PlacementProblem problem = random_placement(wish);
    problem.cpu_launch_us = seed % 3;
    if (seed % 5 == 0) problem.most_parts = 2;
    PlacementScorer scorer(problem);
    ChangedScore changed(scorer);
    Dice dice;
    Sides sides(problem.unit_count(), seed % 2);
    changed.set(sides);
    for (int step = 0; step < 50; ++step) {
      Sides next = sides;
      for (std::uint32_t i = dice.below(4) + 1; i > 0; --i) {
        const std::uint32_t unit = dice.below(next.size());
        if (next[unit] != sides[unit]) continue;
        next[unit] ^= 1U;
        changed.flip(unit);
      }
      INFO("seed " << seed << ", step " << step);
      REQUIRE(changed.total_us() == Approx(scorer.score(next).total_us).epsilon(1e-12));
      if (dice.below(2) == 0) {
        changed.keep();
        sides = next;
      } else {
        changed.undo();
      }
    }
  }
}

TEST_CASE("A problem that was solved before has the same placement") {
  FoundPlacements found;
  for (const std::uint32_t seed : {0U, 1U, 0U, 2U, 3U, 4U, 5U, 0U, 5U}) {
    const PlacementProblem problem = random_placement(any_wish(seed, 12));
    const Placement fresh = find_placement(problem);
    const Placement kept = found.find(problem);
    INFO("seed " << seed);
    CHECK(kept.sides == fresh.sides);
    CHECK(kept.score.total_us == fresh.score.total_us);
    CHECK(kept.bound_us == fresh.bound_us);
  }
}

TEST_CASE("With free launches and residency, the minimum cut is proved the best placement") {
  for (std::uint32_t seed = 0; seed < 60; ++seed) {
    const PlacementProblem problem =
        random_placement({.seed = seed, .units = 9, .has_ties = seed % 2 == 0});
    const Placement found = find_placement(problem, {.most_tried_out = 0});
    INFO("seed " << seed);
    CHECK(found.score.total_us == Approx(least_time(problem)).epsilon(1e-9));
    CHECK(found.proof == PlacementProof::cut);
  }
}

TEST_CASE("When two placements take the same time the one on the accelerator is found") {
  PlacementProblem problem;
  problem.cpu_us = {1};
  problem.acc_us = {1};
  problem.allowed = {AllowedSides::both};
  CHECK(find_placement(problem, {.most_tried_out = 0}).sides == Sides{1});
}

TEST_CASE("Required units are on the accelerator, and units tied to them come along") {
  PlacementProblem problem;
  problem.cpu_us = {1, 1, 1};
  problem.acc_us = {9, 9, 9};
  problem.allowed = {AllowedSides::both, AllowedSides::acc, AllowedSides::both};
  problem.producer = {0, 1};
  problem.crossing_us = {PlacementProblem::kTied, 1};
  problem.host_reads = {0, 0};
  problem.readers.add(1);
  problem.readers.end_list();
  problem.readers.add(2);
  problem.readers.end_list();
  CHECK(find_placement(problem).sides == Sides{1, 1, 0});
  CHECK(find_placement(problem, {.most_tried_out = 0}).sides == Sides{1, 1, 0});
}

TEST_CASE("What makes or reads a value that the host must hold is on the CPU") {
  PlacementProblem problem;  // the host gives a value to 1, and reads a value of 0
  problem.cpu_us = {9, 9, 9};
  problem.acc_us = {1, 1, 1};
  problem.allowed.assign(3, AllowedSides::both);
  problem.producer = {0, PlacementProblem::kHost};
  problem.crossing_us.assign(2, PlacementProblem::kTied);
  problem.host_reads = {1, 0};
  problem.readers.end_list();
  problem.readers.add(1);
  problem.readers.end_list();
  CHECK(find_placement(problem).sides == Sides{0, 0, 1});
  CHECK(find_placement(problem, {.most_tried_out = 0}).sides == Sides{0, 0, 1});
}

TEST_CASE("There are at most as many parts as allowed, even if more would gain") {
  for (std::uint32_t seed = 0; seed < 40; ++seed) {
    PlacementProblem problem =
        random_placement({.seed = seed, .units = 40, .mean_crossing_us = 0.1});
    problem.most_parts = 2;
    const Placement found = find_placement(problem);
    INFO("seed " << seed);
    CHECK(found.score.launches <= 2);
    CHECK(found.score.penalty_us == 0);
  }
}

TEST_CASE("The bound of a full-duplex link is not above the best either") {
  for (std::uint32_t seed = 0; seed < 60; ++seed) {
    PlacementProblem problem = random_placement(any_wish(seed, 8));
    problem.duplex = Duplex::full;
    const Placement tried = find_placement(problem);
    const Placement searched = find_placement(problem, {.most_tried_out = 0});
    INFO("seed " << seed);
    CHECK(searched.bound_us <= tried.score.total_us * (1 + 1e-9));
    CHECK(searched.score.total_us >= tried.score.total_us * (1 - 1e-9));
  }
}

TEST_CASE("Over a full-duplex link each part waits for its longer direction") {
  PlacementProblem problem;  // host -> 0 -> 1 -> 2 -> host, where 1 must be on the CPU
  problem.cpu_us = {100, 1, 100};
  problem.acc_us = {1, 1, 1};
  problem.allowed = {AllowedSides::both, AllowedSides::cpu, AllowedSides::both};
  problem.producer = {PlacementProblem::kHost, 0, 1, 2};
  for (const std::uint32_t reader : {0U, 1U, 2U}) {
    problem.readers.add(reader);
    problem.readers.end_list();
  }
  problem.readers.end_list();
  problem.crossing_us = {10, 2, 3, 20};
  problem.host_reads = {0, 0, 0, 1};
  problem.duplex = Duplex::full;
  const Placement found = find_placement(problem);
  CHECK(found.sides == Sides{1, 0, 1});
  CHECK(found.score.link_us == Approx(10 + 20));
  CHECK(found.score.total_us == Approx(3 + 30));
  problem.residency = Residency::on;
  CHECK(find_placement(problem).score.link_us == Approx(10 + 20));
}

TEST_CASE("An empty problem takes no time") {
  const Placement found = find_placement({});
  CHECK(found.score.total_us == 0);
  CHECK(found.proof == PlacementProof::cut);
}

}  // namespace

}  // namespace cleave
