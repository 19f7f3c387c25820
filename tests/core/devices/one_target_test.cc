#include "core/devices/search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "core/base/base.h"
#include "tests/catch2.h"
#include "tests/core/devices/random_one_target.h"

namespace cleave {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr DeviceEffort kLittle = {.steps = 20'000, .most_tried = 0};

// Graphs of all kinds: with and without launches, ties and residency, links cheap and dear.
RandomOneTarget any_wish(std::uint32_t seed, std::size_t units) {
  return {.seed = seed,
          .units = units,
          .launch_us = (seed % 4) * 4.0,
          .mean_crossing_us = seed % 5 == 0 ? 1.0 : 4.0,
          .has_ties = seed % 3 == 0,
          .residency = seed % 2 == 0 ? Residency::off : Residency::on,
          .has_state = seed % 7 < 3};
}

TEST_CASE("A placement is at most 2% above the best of all, and the bound never above it") {
  for (std::uint32_t seed = 0; seed < 150; ++seed) {
    const DeviceProblem problem = random_one_target(any_wish(seed, seed < 140 ? 8 : 13));
    const DevicePlacement found = find_placement(problem);
    const double least = least_time(problem);
    INFO("seed " << seed);
    CHECK(found.score.total <= 1.02 * least);
    CHECK(found.bound <= least * (1 + 1e-9));
    if (found.proof != PlacementProof::none) {
      CHECK(found.score.total <= least * (1 + 1e-9));
      CHECK(found.bound == Approx(found.score.total));
    }
  }
}

TEST_CASE("The local search alone rarely misses the best placement") {
  int missed = 0;
  double sum = 0;
  for (std::uint32_t seed = 0; seed < 150; ++seed) {
    const DeviceProblem problem = random_one_target(any_wish(seed, 8));
    const DevicePlacement found = find_placement(problem, {.most_tried = 0});
    const double ratio = found.score.total / least_time(problem);
    sum += ratio;
    missed += ratio > 1.02 ? 1 : 0;
  }
  CHECK(missed <= 3);
  CHECK(sum / 150 < 1.005);
}

TEST_CASE("A score is the time that running the placement takes") {
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    DeviceProblem problem = random_one_target(any_wish(seed, 12));
    for (double& cost : problem.unit_costs) cost = std::abs(cost);
    DeviceScorer scorer(problem);
    Devices devices(12);
    for (std::uint32_t unit = 0; unit < 12; ++unit) devices[unit] = seed >> (unit % 8) & 1U;
    const double total = scorer.cost(devices, kInfinity, 1);
    INFO("seed " << seed);
    CHECK(total == Approx(plain_time(problem, devices)).epsilon(1e-12));
    CHECK(scorer.total(devices, kInfinity) == total);
    CHECK(scorer.score(devices, scorer.rounds(devices)).total == total);
  }
}

TEST_CASE("The time after a change is that of scoring the changed placement anew") {
  for (std::uint32_t seed = 0; seed < 100; ++seed) {
    RandomOneTarget wish = any_wish(seed, 5 + seed % 30);
    wish.residency = Residency::off;
    DeviceProblem problem = random_one_target(wish);
    problem.host_launch_cost = seed % 3;
    problem.targets[0].up_cost = 1 + seed % 2;
    if (seed % 5 == 0) problem.targets[0].most_parts = 2;
    DeviceScorer scorer(problem);
    ChangedTotal changed(scorer);
    Dice dice;
    Devices devices(problem.unit_count(), static_cast<DeviceIndex>(seed % 2));
    changed.set(devices);
    for (int step = 0; step < 50; ++step) {
      Devices next = devices;
      for (std::uint32_t i = dice.below(4) + 1; i > 0; --i) {
        const std::uint32_t unit = dice.below(next.size());
        if (next[unit] != devices[unit]) continue;
        next[unit] ^= 1U;
        changed.flip(unit);
      }
      INFO("seed " << seed << ", step " << step);
      REQUIRE(changed.total() == Approx(scorer.cost(next, kInfinity, 1)).epsilon(1e-12));
      if (dice.below(2) == 0) {
        changed.keep();
        devices = next;
      } else {
        changed.undo();
      }
    }
  }
}

TEST_CASE("A limit of memory that does not bind changes no placement, and one that does is kept") {
  for (std::uint32_t seed = 0; seed < 40; ++seed) {
    DeviceProblem problem = random_one_target(any_wish(seed, 20));
    for (double& bytes : problem.bytes) bytes = std::ceil(bytes);
    const DevicePlacement free = find_placement(problem, kLittle);
    problem.targets[0].memory = free.score.peak_bytes[0];
    INFO("seed " << seed);
    CHECK(find_placement(problem, kLittle).devices == free.devices);
    *problem.targets[0].memory /= 2;
    const DevicePlacement less = find_placement(problem, kLittle);
    CHECK(less.score.penalty == 0);
    CHECK(less.score.peak_bytes[0] <= *problem.targets[0].memory);
    CHECK(less.score.total >= free.bound * (1 - 1e-9));
  }
}

TEST_CASE("A problem that was solved before has the same placement") {
  FoundPlacements found;
  for (const std::uint32_t seed : {0U, 1U, 0U, 2U, 3U, 4U, 5U, 0U, 5U}) {
    const DeviceProblem problem = random_one_target(any_wish(seed, 12));
    const DevicePlacement fresh = find_placement(problem);
    const DevicePlacement kept = found.find(problem, {});
    INFO("seed " << seed);
    CHECK(kept.devices == fresh.devices);
    CHECK(kept.score.total == fresh.score.total);
    CHECK(kept.bound == fresh.bound);
  }
}

TEST_CASE("With free launches and residency, the minimum cut is proved the best placement") {
  for (std::uint32_t seed = 0; seed < 60; ++seed) {
    const DeviceProblem problem =
        random_one_target({.seed = seed, .units = 9, .has_ties = seed % 2 == 0});
    const DevicePlacement found = find_placement(problem, {.most_tried = 0});
    INFO("seed " << seed);
    CHECK(found.score.total == Approx(least_time(problem)).epsilon(1e-9));
    CHECK(found.proof == PlacementProof::cut);
  }
}

// Of one target, which takes `on_target` of each unit, and the host.
DeviceProblem problem_of(const std::vector<double>& on_target, const std::vector<double>& on_host) {
  DeviceProblem problem;
  problem.targets = {{.down_cost = 1, .up_cost = 1}};
  for (std::size_t unit = 0; unit < on_host.size(); ++unit) {
    problem.unit_costs.push_back(on_target[unit]);
    problem.unit_costs.push_back(on_host[unit]);
  }
  return problem;
}

TEST_CASE("When two placements take the same time the one on the target is found") {
  CHECK(find_placement(problem_of({1}, {1}), {.most_tried = 0}).devices == Devices{0});
}

TEST_CASE("Required units are on the target, and units that stay with them come along") {
  DeviceProblem problem = problem_of({9, 9, 9}, {-1, -1, 1});
  problem.producer = {0, 1};
  problem.bytes = {0, 1};
  problem.host_reads = {0, 0};
  problem.readers.add(1);
  problem.readers.end_list();
  problem.readers.add(2);
  problem.readers.end_list();
  problem.stays_with = {0, 0, 2};
  CHECK(find_placement(problem).devices == Devices{0, 0, 1});
  CHECK(find_placement(problem, {.most_tried = 0}).devices == Devices{0, 0, 1});
}

TEST_CASE("Units that stay together move together, though something is between them") {
  DeviceProblem problem = problem_of({1, -1, 5}, {9, 1, 2});  // 0 and 2 gain together
  problem.producer = {0, 1};
  problem.bytes = {0.25, 0.25};
  problem.host_reads = {0, 0};
  for (const std::uint32_t reader : {1U, 2U}) {
    problem.readers.add(reader);
    problem.readers.end_list();
  }
  problem.stays_with = {0, 1, 0};
  for (const DeviceEffort& effort : {DeviceEffort{}, DeviceEffort{.most_tried = 0}}) {
    const DevicePlacement found = find_placement(problem, effort);
    CHECK(found.devices == Devices{0, 1, 0});
    CHECK(found.score.total == Approx(1 + 1 + 5 + 0.5));
    CHECK(found.bound == Approx(found.score.total));
  }
}

TEST_CASE("There are at most as many parts as allowed, even if more would gain") {
  for (std::uint32_t seed = 0; seed < 40; ++seed) {
    DeviceProblem problem = random_one_target({.seed = seed, .units = 40, .mean_crossing_us = 0.1});
    problem.targets[0].most_parts = 2;
    const DevicePlacement found = find_placement(problem);
    INFO("seed " << seed);
    CHECK(found.rounds.acc_parts <= 2);
    CHECK(found.score.penalty == 0);
  }
}

TEST_CASE("The bound of a full-duplex link is not above the best either") {
  for (std::uint32_t seed = 0; seed < 60; ++seed) {
    DeviceProblem problem = random_one_target(any_wish(seed, 8));
    problem.targets[0].duplex = Duplex::full;
    const DevicePlacement tried = find_placement(problem);
    const DevicePlacement searched = find_placement(problem, {.most_tried = 0});
    INFO("seed " << seed);
    CHECK(searched.bound <= tried.score.total * (1 + 1e-9));
    CHECK(searched.score.total >= tried.score.total * (1 - 1e-9));
  }
}

TEST_CASE("Over a full-duplex link each part waits for its longer direction") {
  // host -> 0 -> 1 -> 2 -> host, where 1 must be on the CPU
  DeviceProblem problem = problem_of({1, -1, 1}, {100, 1, 100});
  problem.producer = {DeviceProblem::kHost, 0, 1, 2};
  for (const std::uint32_t reader : {0U, 1U, 2U}) {
    problem.readers.add(reader);
    problem.readers.end_list();
  }
  problem.readers.end_list();
  problem.bytes = {10, 2, 3, 20};
  problem.host_reads = {0, 0, 0, 1};
  problem.targets[0].duplex = Duplex::full;
  const DevicePlacement found = find_placement(problem);
  CHECK(found.devices == Devices{0, 1, 0});
  CHECK(found.score.link_costs[0] == Approx(10 + 20));
  CHECK(found.score.total == Approx(3 + 30));
  problem.residency = Residency::on;
  CHECK(find_placement(problem).score.link_costs[0] == Approx(10 + 20));
}

TEST_CASE("An empty problem takes no time") {
  const DevicePlacement found = find_placement(problem_of({}, {}));
  CHECK(found.score.total == 0);
  CHECK(found.proof == PlacementProof::cut);
}

}  // namespace

}  // namespace cleave
