#include "tests/core/devices/random_one_target.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "tests/core/devices/random_devices.h"

namespace cleave {

namespace {

constexpr auto kHost = DeviceProblem::kHost;

double up_to(std::mt19937& random, double most) {
  return most * static_cast<double>(random() % 10'000) / 10'000;
}

// Readers after `first`, near it; none twice.
std::set<std::uint32_t> some_readers(std::mt19937& random, std::uint32_t first, std::size_t units) {
  std::set<std::uint32_t> readers;
  const std::uint32_t wanted = random() % 8 == 0 ? 3 : 1 + random() % 2;
  for (std::uint32_t i = 0; i < wanted && first < units; ++i) {
    const auto reach = static_cast<std::uint32_t>(std::min<std::size_t>(units - first, 6));
    readers.insert(first + static_cast<std::uint32_t>(random()) % reach);
  }
  return readers;
}

bool is_allowed(const DeviceProblem& problem, const Devices& devices) {
  for (std::uint32_t unit = 0; unit < devices.size(); ++unit) {
    if (!problem.accepts(devices[unit], unit)) return false;
    const bool is_tied = !problem.stays_with.empty();
    if (is_tied && devices[unit] != devices[problem.stays_with[unit]]) return false;
  }
  return true;
}

// The run that each unit is in.
std::vector<int> runs_of(const DeviceProblem& problem, const Devices& devices) {
  std::vector<int> run(devices.size(), -1);
  const auto is_ready = [&](std::uint32_t unit) {
    for (std::uint32_t value = 0; value < problem.value_count(); ++value) {
      const auto readers = problem.readers_now(value);
      const bool reads = std::find(readers.begin(), readers.end(), unit) != readers.end();
      if (reads && problem.producer[value] != kHost && run[problem.producer[value]] < 0) {
        return false;
      }
    }
    return true;
  };
  for (int now = 0; std::count(run.begin(), run.end(), -1) > 0; ++now) {
    for (bool took = true; took;) {
      took = false;
      for (std::uint32_t unit = 0; unit < devices.size(); ++unit) {
        if (run[unit] >= 0 || devices[unit] == now % 2 || !is_ready(unit)) continue;
        run[unit] = now;
        took = true;
      }
    }
  }
  return run;
}

}  // namespace

DeviceProblem random_one_target(const RandomOneTarget& wish) {
  std::mt19937 random(wish.seed);
  DeviceProblem problem;
  problem.targets = {{.down_cost = 1, .up_cost = 1, .launch_cost = wish.launch_us}};
  problem.residency = wish.residency;
  std::vector<std::uint32_t> first(wish.units);
  std::iota(first.begin(), first.end(), 0U);
  const auto tie = [&](std::uint32_t one, std::uint32_t other) {
    const auto [least, most] = std::minmax(first[one], first[other]);
    std::replace(first.begin(), first.end(), std::uint32_t{most}, std::uint32_t{least});
  };
  const auto add_value = [&](std::uint32_t maker, std::uint32_t first_reader) {
    const std::set<std::uint32_t> readers = some_readers(random, first_reader, wish.units);
    problem.producer.push_back(maker);
    for (const std::uint32_t reader : readers) problem.readers.add(reader);
    problem.readers.end_list();
    const bool is_tied = wish.has_ties && maker != kHost && !readers.empty() && random() % 6 == 0;
    const double us = up_to(random, 2 * wish.mean_crossing_us);
    for (const std::uint32_t reader : readers) {
      if (is_tied) tie(maker, reader);
    }
    problem.bytes.push_back(is_tied ? 0 : us);
    problem.host_reads.push_back(readers.empty() || (!is_tied && random() % 10 == 0) ? 1 : 0);
  };
  for (std::uint32_t unit = 0; unit < wish.units; ++unit) {
    const double on_host = up_to(random, 10);
    problem.unit_costs.push_back(up_to(random, random() % 4 == 0 ? 12 : 3));
    problem.unit_costs.push_back(on_host);
    if (random() % 8 == 0) problem.unit_costs[2 * unit] = DeviceProblem::kRefused;
    add_value(unit, unit + 1);
  }
  add_value(kHost, 0);
  add_value(kHost, static_cast<std::uint32_t>(wish.units / 2));
  if (wish.has_state) add_state(random, problem);
  if (!wish.has_ties) return problem;
  for (std::uint32_t unit = 0; unit < wish.units; ++unit) {
    if (problem.accepts(0, unit)) continue;
    for (std::uint32_t other = 0; other < wish.units; ++other) {
      if (first[other] == first[unit]) problem.unit_costs[2 * other] = DeviceProblem::kRefused;
    }
  }
  problem.stays_with = std::move(first);
  return problem;
}

double plain_time(const DeviceProblem& problem, const Devices& devices) {
  const std::vector<int> run = runs_of(problem, devices);
  double time = 0;
  std::set<int> parts;
  for (std::uint32_t unit = 0; unit < devices.size(); ++unit) {
    time += problem.cost(unit, devices[unit]);
    if (devices[unit] == 0) parts.insert(run[unit]);
  }
  time += problem.targets[0].launch_cost * static_cast<double>(parts.size());
  for (std::uint32_t value = 0; value < problem.value_count(); ++value) {
    const double us = problem.bytes[value];
    const std::uint32_t maker = problem.producer[value];
    const int home = maker == kHost ? -1 : run[maker];
    const bool made_on_acc = maker != kHost && devices[maker] == 0;
    const auto readers = problem.readers.of(value);
    const bool cpu_reads =
        problem.host_reads[value] != 0 ||
        std::any_of(readers.begin(), readers.end(), [&](auto unit) { return devices[unit] == 1; });
    const auto now = problem.readers_now(value);
    std::set<int> entered;
    for (const std::uint32_t reader : readers) {
      const bool is_later = std::ranges::find(now, reader) == now.end();
      const bool is_there = run[reader] == home || (is_later && devices[reader] == devices[maker]);
      if (devices[reader] == 0 && !is_there) entered.insert(run[reader]);
    }
    if (problem.residency == Residency::on) {
      if (made_on_acc ? cpu_reads : !entered.empty()) time += us;
    } else {
      time += us * static_cast<double>(entered.size());
      if (made_on_acc && (cpu_reads || !entered.empty())) time += us;
    }
  }
  return time;
}

double least_time(const DeviceProblem& problem) {
  double least = std::numeric_limits<double>::infinity();
  Devices devices(problem.unit_count());
  for (std::uint32_t choice = 0; choice < 1U << devices.size(); ++choice) {
    for (std::uint32_t unit = 0; unit < devices.size(); ++unit) devices[unit] = choice >> unit & 1U;
    if (is_allowed(problem, devices)) least = std::min(least, plain_time(problem, devices));
  }
  return least;
}

}  // namespace cleave
