#include "core/devices/placement.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>

#include "core/devices/cuts.h"
#include "tests/catch2.h"
#include "tests/core/devices/random_devices.h"

namespace cleave {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr DeviceEffort kNoneTried = {.most_tried = 0};

Devices random_placement_of(const DeviceProblem& problem, std::uint32_t seed) {
  std::mt19937 random(seed);
  Devices devices;
  for (std::uint32_t unit = 0; unit < problem.unit_count(); ++unit) {
    const auto device = static_cast<DeviceIndex>(random() % problem.device_count());
    devices.push_back(problem.accepts(device, unit) ? device : problem.host());
  }
  return devices;
}

TEST_CASE("The score of a placement on several devices is what its transfers and parts cost") {
  for (std::uint32_t seed = 0; seed < 300; ++seed) {
    const DeviceProblem problem =
        random_devices({.seed = seed,
                        .units = 14,
                        .targets = 2 + seed % 3,
                        .most_launch_cost = 4,
                        .residency = seed % 2 == 0 ? Residency::off : Residency::on,
                        .has_links = seed % 5 == 0});
    const DeviceScorer scorer(problem);
    const Devices devices = random_placement_of(problem, seed);
    const DeviceScore score = scorer.score(devices, scorer.rounds(devices));
    INFO("seed " << seed);
    CHECK(score.total == Approx(plain_cost(problem, devices)).epsilon(1e-12));
    CHECK(scorer.total(devices, kInfinity) == score.total);
    CHECK(scorer.total(devices, score.total / 2) >= score.total / 2);
    const double parts = std::accumulate(score.part_costs.begin(), score.part_costs.end(), 0.0);
    CHECK(parts == Approx(score.total).epsilon(1e-12));
  }
}

TEST_CASE("An expansion is the best of all sets of units that could move to a device") {
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    const DeviceProblem problem = any_devices(seed, 7, 2 + seed % 2);
    const DeviceCharges charges{.link = 1, .launch = (seed % 3) / 4.0};
    const LinkCosts links(problem);
    const Devices before = random_placement_of(problem, seed);
    INFO("seed " << seed);
    for (DeviceIndex to = 0; to <= problem.host(); ++to) {
      double least = kInfinity;
      for (std::uint32_t set = 0; set < 1U << before.size(); ++set) {
        Devices moved = before;
        for (std::uint32_t unit = 0; unit < before.size(); ++unit) {
          if ((set >> unit & 1U) != 0 && problem.accepts(to, unit)) moved[unit] = to;
        }
        least = std::min(least, charged_cost(problem, links, moved, charges));
      }
      const Devices found = expand_device(problem, links, before, to, charges);
      CHECK(charged_cost(problem, links, found, charges) == Approx(least).epsilon(1e-9));
    }
  }
}

struct Tally {
  int cases = 0;
  int optimal = 0;
  double worst = 1;

  void add(const DeviceProblem& problem, std::uint32_t seed) {
    const DevicePlacement found = find_device_placement(problem, {}, kNoneTried);
    const double least = least_of_all(problem, found.score.total);
    INFO("seed " << seed);
    CHECK(found.bound <= least * (1 + 1e-9));
    if (found.proof == DeviceProof::bound) CHECK(found.score.total <= least * (1 + 1e-9));
    const double ratio = found.score.total / least;
    ++cases;
    optimal += ratio <= 1 + 1e-9 ? 1 : 0;
    worst = std::max(worst, ratio);
  }
};

TEST_CASE("On three devices 99% of placements cost the least of all, and none over 1.02 times") {
  Tally tally;
  for (std::uint32_t seed = 0; seed < 500; ++seed) {
    tally.add(any_devices(seed, seed % 50 == 0 ? 9 : 4 + seed % 4, 2), seed);
  }
  CHECK(tally.optimal >= 0.99 * tally.cases);
  CHECK(tally.worst <= 1.02);
}

TEST_CASE("On two devices 99% of placements cost the least of all, and none over 1.02 times") {
  Tally tally;
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    tally.add(any_devices(seed, seed % 10 == 0 ? 12 : 8, 1), seed);
  }
  CHECK(tally.optimal >= 0.99 * tally.cases);
  CHECK(tally.worst <= 1.02);
}

TEST_CASE("Direct links between targets leave the bound below the best placement") {
  Tally tally;
  for (std::uint32_t seed = 0; seed < 150; ++seed) {
    tally.add(random_devices({.seed = seed, .units = 6, .has_links = true}), seed);
  }
  CHECK(tally.optimal >= 0.99 * tally.cases);
}

TEST_CASE("No order of the targets costs less than the placement that is found") {
  for (std::uint32_t seed = 0; seed < 1000; ++seed) {
    const DeviceProblem problem = any_devices(seed, 10 + seed % 30, 2 + seed % 3);
    const DevicePlacement found =
        find_device_placement(problem, {}, {.steps = 20'000, .most_tried = 0});
    std::vector<DeviceIndex> order(problem.targets.size());
    std::iota(order.begin(), order.end(), DeviceIndex{0});
    INFO("seed " << seed);
    do {
      const double cost = plain_cost(problem, place_in_order(problem, order));
      CHECK(found.score.total <= cost * (1 + 1e-9));
    } while (std::next_permutation(order.begin(), order.end()));
  }
}

TEST_CASE("Few placements on several devices are all tried, which proves the best") {
  const DeviceProblem problem = any_devices(5, 8, 2);
  const DevicePlacement found = find_device_placement(problem);
  CHECK(found.proof != DeviceProof::none);
  CHECK(found.bound == found.score.total);
  CHECK(found.score.total == Approx(least_of_all(problem, found.score.total)));
}

TEST_CASE("A target has no more parts than it can hold") {
  for (std::uint32_t seed = 0; seed < 40; ++seed) {
    DeviceProblem problem = any_devices(seed, 30, 2);
    problem.targets[0].most_parts = 1;
    problem.targets[1].most_parts = 2;
    const DevicePlacement found =
        find_device_placement(problem, {}, {.steps = 300'000, .most_tried = 0});
    INFO("seed " << seed);
    CHECK(found.score.penalty == 0);
    CHECK(found.score.parts[0] <= 1);
    CHECK(found.score.parts[1] <= 2);
  }
}

}  // namespace
}  // namespace cleave
