#include <algorithm>
#include <limits>
#include <random>

#include "core/devices/search.h"
#include "tests/catch2.h"
#include "tests/core/devices/random_devices.h"

namespace cleave {
namespace {

constexpr DeviceEffort kNoneTried = {.steps = 150'000, .most_tried = 0};

// A chain of units on one target and the host; each makes what the next reads.
DeviceProblem random_chain(std::mt19937& random, std::size_t units) {
  const auto between = [&](double least, double most) {
    return least + (most - least) * fraction(random);
  };
  DeviceProblem problem;
  problem.targets = {{.down_cost = 1, .up_cost = between(.5, 1.5), .launch_cost = between(0, 3)}};
  const auto add_value = [&](std::uint32_t maker, std::uint32_t reader) {
    problem.producer.push_back(maker);
    if (reader < units) problem.readers.add(reader);
    problem.readers.end_list();
    problem.bytes.push_back(between(.05, 4));
    problem.host_reads.push_back(reader < units ? 0 : 1);
  };
  add_value(DeviceProblem::kHost, 0);
  for (std::uint32_t unit = 0; unit < units; ++unit) {
    problem.unit_costs.push_back(random() % 8 == 0 ? DeviceProblem::kRefused : between(.1, 5));
    problem.unit_costs.push_back(between(.1, 5));
    add_value(unit, unit + 1);
  }
  return problem;
}

PhasesProblem two_phases(std::mt19937& random, DeviceProblem prompt, DeviceProblem token) {
  const auto units = static_cast<std::uint32_t>(prompt.unit_count());
  token.targets = prompt.targets;
  token.links = prompt.links;
  token.residency = prompt.residency;
  PhasesProblem problem{
      .phases = {std::move(prompt), std::move(token)},
      .runs = {1 + static_cast<double>(random() % 8), 1 + static_cast<double>(random() % 200)},
      .handovers = {}};
  for (std::uint32_t unit = 0; unit < units; ++unit) {
    if (random() % 10 >= 7) continue;
    const std::uint32_t writer =
        random() % 10 < 7 ? unit : static_cast<std::uint32_t>(random() % units);
    problem.handovers.push_back({.from_phase = 0,
                                 .from_unit = writer,
                                 .to_phase = 1,
                                 .to_unit = unit,
                                 .bytes = .5 + 60 * fraction(random)});
  }
  return problem;
}

// Of each placement of a phase, by its number in the base of devices: what it costs.
std::vector<double> all_costs(const DeviceProblem& problem) {
  const std::size_t base = problem.device_count();
  std::size_t count = 1;
  for (std::size_t unit = 0; unit < problem.unit_count(); ++unit) count *= base;
  std::vector<double> costs;
  DeviceScorer scorer(problem);
  for (std::size_t set = 0; set < count; ++set) {
    Devices devices;
    bool is_allowed = true;
    for (std::size_t unit = 0, left = set; unit < problem.unit_count(); ++unit, left /= base) {
      devices.push_back(static_cast<DeviceIndex>(left % base));
      is_allowed = is_allowed && problem.accepts(devices.back(), static_cast<std::uint32_t>(unit));
    }
    double cost = std::numeric_limits<double>::infinity();
    for (const DeviceIndex first : {problem.host(), DeviceIndex{0}}) {
      if (!is_allowed || (first == 0 && base > 2)) continue;
      cost = std::min(cost, scorer.score(devices, scorer.rounds(devices, first)).total);
    }
    costs.push_back(cost);
  }
  return costs;
}

// The cost of a byte from each device to each, by plain definition.
std::vector<std::vector<double>> transfers_of(const DeviceProblem& problem) {
  const std::size_t base = problem.device_count();
  std::vector<std::vector<double>> transfer(base, std::vector<double>(base, 0));
  for (std::size_t from = 0; from < base; ++from) {
    for (std::size_t to = 0; to < base; ++to) {
      const double up = from < problem.host() ? problem.targets[from].up_cost : 0;
      const double down = to < problem.host() ? problem.targets[to].down_cost : 0;
      transfer[from][to] = from == to ? 0 : up + down;
    }
  }
  for (const DirectLink& link : problem.links) {
    double& cost = transfer[link.from][link.to];
    cost = std::min(cost, link.cost);
  }
  return transfer;
}

// Of all placements of two phases, by plain definition.
double least_of_phases(const PhasesProblem& problem) {
  const auto prompt = all_costs(problem.phases[0]), token = all_costs(problem.phases[1]);
  const auto transfer = transfers_of(problem.phases[0]);
  const std::size_t base = transfer.size();
  const auto digit = [&](std::size_t set, std::uint32_t unit) {
    for (; unit > 0; --unit) set /= base;
    return set % base;
  };
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t a = 0; a < prompt.size(); ++a) {
    for (std::size_t b = 0; b < token.size(); ++b) {
      double sum = problem.runs[0] * prompt[a] + problem.runs[1] * token[b];
      if (sum >= least) continue;
      for (const Handover& state : problem.handovers) {
        sum += state.bytes * transfer[digit(a, state.from_unit)][digit(b, state.to_unit)];
      }
      least = std::min(least, sum);
    }
  }
  return least;
}

struct Tally {
  int cases = 0;
  int optimal = 0;
  double worst = 1;

  void add(const PhasesProblem& problem, std::uint32_t seed) {
    const PhasesPlacement found = find_phases_placement(problem, kNoneTried);
    const double least = least_of_phases(problem);
    INFO("seed " << seed);
    CHECK(found.total >= least * (1 - 1e-9));
    CHECK(found.bound <= least * (1 + 1e-9));
    const double ratio = found.total / least;
    ++cases;
    optimal += ratio <= 1 + 1e-9 ? 1 : 0;
    worst = std::max(worst, ratio);
  }
};

TEST_CASE("Two phases of a chain have the placements that cost the least together") {
  Tally tally;
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    const std::size_t units = 2 + random() % 4;
    DeviceProblem prompt = random_chain(random, units), token = random_chain(random, units);
    tally.add(two_phases(random, std::move(prompt), std::move(token)), seed);
  }
  CHECK(tally.optimal == tally.cases);
}

TEST_CASE("Of two phases with branches 99% cost the least together, and none over 1.02 times") {
  Tally tally;
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    tally.add(two_phases(random, any_devices(2 * seed, 5, 1), any_devices(2 * seed + 1, 5, 1)),
              seed);
  }
  CHECK(tally.optimal >= 0.99 * tally.cases);
  CHECK(tally.worst <= 1.02);
}

TEST_CASE(
    "On two targets, too, 99% of two phases cost the least together, and none over 1.02 times") {
  Tally tally;
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    const auto devices = [&](std::uint32_t own) {
      return random_devices({.seed = own,
                             .units = 4 + seed % 2,
                             .targets = 2,
                             .most_launch_cost = (seed % 4) * 2.0,
                             .residency = seed % 3 == 0 ? Residency::off : Residency::on,
                             .has_links = seed % 5 == 0});
    };
    tally.add(two_phases(random, devices(2 * seed), devices(2 * seed + 1)), seed);
  }
  UNSCOPED_INFO(tally.optimal << " of " << tally.cases << " optimal, worst " << tally.worst);
  CHECK(tally.optimal >= 0.99 * tally.cases);
  CHECK(tally.worst <= 1.02);
}

TEST_CASE("Launches of the host count, too, on two targets") {
  Tally tally;
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    const auto devices = [&](std::uint32_t own) {
      DeviceProblem problem =
          random_devices({.seed = own, .units = 5, .targets = 2, .most_launch_cost = 2});
      problem.host_launch_cost = 4.0 + seed % 8;
      return problem;
    };
    tally.add(two_phases(random, devices(2 * seed), devices(2 * seed + 1)), seed);
  }
  UNSCOPED_INFO(tally.optimal << " of " << tally.cases << " optimal, worst " << tally.worst);
  CHECK(tally.optimal == tally.cases);
}

TEST_CASE("Phases that leave nothing to each other have the placements of each by itself") {
  std::mt19937 random(7);
  PhasesProblem problem = two_phases(random, random_chain(random, 5), random_chain(random, 5));
  problem.handovers.clear();
  const PhasesPlacement found = find_phases_placement(problem);
  double sum = 0;
  for (std::size_t i = 0; i < 2; ++i) {
    sum += problem.runs[i] * find_placement(problem.phases[i]).score.total;
  }
  CHECK(found.total == Approx(sum).epsilon(1e-12));
}

}  // namespace
}  // namespace cleave
