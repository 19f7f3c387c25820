// The search gives the same placement for the same problem on every machine. Random problems and the
// answers recorded for them notice a change of any step, also one that is neither better nor worse;
// after a change that is meant, look at the sums before the new answers are recorded.

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>

#include "core/devices/devices.h"
#include "tests/catch2.h"
#include "tests/core/devices/random_devices.h"
#include "tests/core/digest.h"

namespace cleave {

namespace {

// Costs in sixteenths, whose sums and products with whole bytes do not depend on their order.
void round_costs(DeviceProblem& problem) {
  const auto round = [](double& cost) { cost = std::round(cost * 16) / 16; };
  for (DeviceTarget& target : problem.targets) {
    for (double* const cost : {&target.down_cost, &target.up_cost, &target.launch_cost})
      round(*cost);
  }
  for (DirectLink& link : problem.links) round(link.cost);
  for (double& cost : problem.unit_costs) round(cost);
  for (double& bytes : problem.bytes) bytes = std::ceil(bytes);
}

struct Limits {
  std::optional<std::uint64_t> memory = {};
  std::size_t most_parts = 1000;
};

// What the search finds for 8 problems: the sums of costs and bounds, the number of parts, a digest of all devices.
std::string answers(RandomDevices wish, const DeviceEffort& effort, const Limits& limits = {}) {
  double total = 0, bound = 0, parts = 0, penalties = 0;
  Digest devices;
  for (std::uint32_t seed = 0; seed < 8; ++seed) {
    wish.seed = seed;
    DeviceProblem problem = random_devices(wish);
    round_costs(problem);
    for (DeviceTarget& target : problem.targets) {
      target.memory = limits.memory;
      target.most_parts = limits.most_parts;
      if (seed % 3 == 0) target.duplex = Duplex::full;
    }
    const DevicePlacement found = find_placement(problem, effort);
    total += found.score.total;
    bound += found.bound;
    parts += static_cast<double>(found.rounds.count());
    penalties += found.score.penalty > 0 ? 1 : 0;
    devices.add_all(found.devices);
    devices.add_all(found.without_limits);
    devices.add_all(found.score.peak_bytes);
    devices.add(static_cast<std::uint32_t>(found.proof));
  }
  return six_digits(total) + " bound " + six_digits(bound) + " parts " + six_digits(parts) +
         " beyond limits " + six_digits(penalties) + " " + devices.text();
}

constexpr DeviceEffort kLittle = {.steps = 5'000, .most_tried = 0};
constexpr DeviceEffort kSome = {.steps = 60'000, .most_tried = 0};

TEST_CASE("placements on several devices are those recorded, with little effort and with some") {
  const RandomDevices two = {
      .units = 25, .targets = 2, .most_launch_cost = 4, .residency = Residency::off};
  const RandomDevices four = {.units = 40, .targets = 4, .most_launch_cost = 3, .has_links = true};
  const RandomDevices six = {.units = 50, .targets = 6, .most_launch_cost = 2};
  CHECK(answers(two, kLittle) == "1008.88 bound 835.422 parts 32 beyond limits 0 3965e178");
  CHECK(answers(two, kSome) == "994.75 bound 835.422 parts 31 beyond limits 0 9696249b");
  CHECK(answers(four, kLittle) == "1254.31 bound 831.75 parts 54 beyond limits 0 0a67629b");
  CHECK(answers(four, kSome) == "1253.25 bound 831.75 parts 53 beyond limits 0 30d2add8");
  CHECK(answers(six, kSome) == "1625.38 bound 779.016 parts 79 beyond limits 0 8e39d111");
  CHECK(answers(two, kSome, {.most_parts = 2}) ==
        "995.75 bound 835.422 parts 30 beyond limits 0 fab132c8");
}

TEST_CASE("placements on devices whose memory is short are those recorded") {
  const RandomDevices two = {.units = 25, .targets = 2, .most_launch_cost = 4, .has_weights = true};
  const RandomDevices three = {.units = 40,
                               .targets = 3,
                               .most_launch_cost = 4,
                               .residency = Residency::off,
                               .has_weights = true};
  CHECK(answers(two, kLittle, {.memory = 15}) ==
        "1755.44 bound 915.188 parts 35 beyond limits 0 535971b9");
  CHECK(answers(two, kSome, {.memory = 15}) ==
        "1638 bound 915.188 parts 40 beyond limits 0 ce839916");
  CHECK(answers(two, kSome, {.memory = 30}) ==
        "1339.06 bound 915.188 parts 47 beyond limits 0 bdef3e26");
  CHECK(answers(three, kLittle, {.memory = 20}) ==
        "2738.62 bound 1065.72 parts 52 beyond limits 0 6322dbc4");
  CHECK(answers(three, kSome, {.memory = 40}) ==
        "2211.12 bound 1065.72 parts 61 beyond limits 0 3def479f");
  CHECK(answers(three, kSome, {.memory = 40, .most_parts = 2}) ==
        "2269.12 bound 1065.72 parts 56 beyond limits 0 fa0c8b0a");
}

TEST_CASE("placements on several devices that are all tried are those recorded") {
  const RandomDevices wish = {.units = 6, .targets = 2, .most_launch_cost = 4, .has_weights = true};
  CHECK(answers(wish, {}) == "264.188 bound 264.188 parts 16 beyond limits 0 babb82c1");
  CHECK(answers(wish, {}, {.memory = 8, .most_parts = 1}) ==
        "436.188 bound 436.188 parts 24 beyond limits 0 57fad458");
}

// What a problem has besides units, targets and values.
struct Traits {
  double host_launch_cost = 0;
  bool stays_together = false;  // every fifth unit stays with the one before it
  std::optional<std::uint64_t> memory = {};
  std::size_t most_parts = 1000;
};

DeviceProblem problem_of(const RandomDevices& wish, const Traits& traits) {
  DeviceProblem problem = random_devices(wish);
  round_costs(problem);
  problem.host_launch_cost = traits.host_launch_cost;
  for (std::uint32_t unit = 0; traits.stays_together && unit < problem.unit_count(); ++unit) {
    const bool stays = unit % 5 == 4;
    problem.stays_with.push_back(stays ? unit - 1 : unit);
    for (DeviceIndex device = 0; stays && device <= problem.host(); ++device) {
      const double other = problem.cost(unit - 1, device);
      problem.unit_costs[unit * problem.device_count() + device] = other < 0 ? other : other + 1;
    }
  }
  for (DeviceTarget& target : problem.targets) {
    target.memory = traits.memory;
    target.most_parts = traits.most_parts;
  }
  return problem;
}

// The same of some phases of 6 problems, of which each hands over to the next.
std::string answers_of_phases(RandomDevices wish, std::size_t phases, const Traits& traits = {}) {
  double total = 0, bound = 0, parts = 0;
  Digest devices;
  for (std::uint32_t seed = 0; seed < 6; ++seed) {
    PhasesProblem problem;
    for (std::uint32_t p = 0; p < phases; ++p) {
      wish.seed = seed * 10 + p;
      problem.phases.push_back(problem_of(wish, traits));
      problem.phases.back().targets = problem.phases.front().targets;
      problem.phases.back().links = problem.phases.front().links;
      problem.runs.push_back(1U << (seed + 3 * p) % 4);
      for (std::uint32_t unit = seed % 3; p > 0 && unit < wish.units; unit += 3) {
        problem.handovers.push_back({.from_phase = p - 1,
                                     .from_unit = (unit * 5 + seed) % std::uint32_t(wish.units),
                                     .to_phase = p,
                                     .to_unit = unit,
                                     .bytes = 1.0 + unit % 4});
      }
    }
    const PhasesPlacement found = find_phases_placement(problem, kLittle);
    total += found.total;
    bound += found.bound;
    for (const DevicePlacement& phase : found.phases) {
      parts += static_cast<double>(phase.rounds.count());
      devices.add_all(phase.devices);
      devices.add(phase.first);
    }
  }
  return six_digits(total) + " bound " + six_digits(bound) + " parts " + six_digits(parts) + " " +
         devices.text();
}

TEST_CASE("placements of phases that hand over to each other are those recorded") {
  const RandomDevices one = {.units = 12, .targets = 1, .most_launch_cost = 4};
  const RandomDevices off = {
      .units = 12, .targets = 1, .most_launch_cost = 2, .residency = Residency::off};
  const RandomDevices three = {
      .units = 10, .targets = 3, .most_launch_cost = 4, .has_links = true, .has_weights = true};
  const RandomDevices state = {.units = 10, .targets = 2, .most_launch_cost = 2, .has_state = true};
  const Traits full = {.host_launch_cost = 1.5, .stays_together = true};
  CHECK(answers_of_phases(one, 2) == "4174 bound 4024.56 parts 43 0c18a86c");
  CHECK(answers_of_phases(one, 3, full) == "6417.94 bound 6114.12 parts 50 6e3f711d");
  CHECK(answers_of_phases(off, 2, full) == "4193.31 bound 3747 parts 32 72636dcb");
  CHECK(answers_of_phases(three, 2) == "1913.62 bound 1348.97 parts 33 0fb9b0c0");
  CHECK(answers_of_phases(three, 3, {.host_launch_cost = 1.5}) ==
        "3618.75 bound 2498.72 parts 52 792a3f96");
  CHECK(answers_of_phases(three, 2, {.memory = 20, .most_parts = 2}) ==
        "2394.5 bound 1348.97 parts 48 4844f7e6");
  CHECK(answers_of_phases(state, 2) == "2339.62 bound 1960.97 parts 34 c65e2efe");
  CHECK(answers_of_phases(state, 3, {.host_launch_cost = 1.5}) ==
        "3723.75 bound 3140.47 parts 53 10b69fa6");
}

}  // namespace

}  // namespace cleave
