#include "tests/core/placement/random_placement.h"

#include <algorithm>
#include <limits>
#include <random>
#include <set>

namespace cleave {

namespace {

constexpr auto kHost = PlacementProblem::kHost;

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

bool is_allowed(const PlacementProblem& problem, const Sides& sides) {
  for (std::uint32_t unit = 0; unit < sides.size(); ++unit) {
    if (problem.allowed[unit] == AllowedSides::cpu && sides[unit] != 0) return false;
    if (problem.allowed[unit] == AllowedSides::acc && sides[unit] == 0) return false;
  }
  for (std::uint32_t value = 0; value < problem.value_count(); ++value) {
    if (problem.crossing_us[value] != PlacementProblem::kTied) continue;
    const std::uint32_t maker = problem.producer[value];
    const std::uint8_t side = maker == kHost ? 0 : sides[maker];
    if (side != 0 && problem.host_reads[value] != 0) return false;
    for (const std::uint32_t reader : problem.readers.of(value)) {
      if (sides[reader] != side) return false;
    }
  }
  return true;
}

// The run that each unit is in.
std::vector<int> runs_of(const PlacementProblem& problem, const Sides& sides) {
  std::vector<int> run(sides.size(), -1);
  const auto is_ready = [&](std::uint32_t unit) {
    for (std::uint32_t value = 0; value < problem.value_count(); ++value) {
      const auto readers = problem.readers.of(value);
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
      for (std::uint32_t unit = 0; unit < sides.size(); ++unit) {
        if (run[unit] >= 0 || sides[unit] != now % 2 || !is_ready(unit)) continue;
        run[unit] = now;
        took = true;
      }
    }
  }
  return run;
}

}  // namespace

PlacementProblem random_placement(const RandomPlacement& wish) {
  std::mt19937 random(wish.seed);
  PlacementProblem problem;
  problem.launch_us = wish.launch_us;
  problem.residency = wish.residency;
  const auto add_value = [&](std::uint32_t maker, std::uint32_t first_reader) {
    const std::set<std::uint32_t> readers = some_readers(random, first_reader, wish.units);
    problem.producer.push_back(maker);
    for (const std::uint32_t reader : readers) problem.readers.add(reader);
    problem.readers.end_list();
    const bool is_tied = wish.has_ties && maker != kHost && !readers.empty() && random() % 6 == 0;
    const double us = up_to(random, 2 * wish.mean_crossing_us);
    problem.crossing_us.push_back(is_tied ? PlacementProblem::kTied : us);
    problem.host_reads.push_back(readers.empty() || (!is_tied && random() % 10 == 0) ? 1 : 0);
  };
  for (std::uint32_t unit = 0; unit < wish.units; ++unit) {
    problem.cpu_us.push_back(up_to(random, 10));
    problem.acc_us.push_back(up_to(random, random() % 4 == 0 ? 12 : 3));
    problem.allowed.push_back(random() % 8 == 0 ? AllowedSides::cpu : AllowedSides::both);
    add_value(unit, unit + 1);
  }
  add_value(kHost, 0);
  add_value(kHost, static_cast<std::uint32_t>(wish.units / 2));
  return problem;
}

double plain_time(const PlacementProblem& problem, const Sides& sides) {
  const std::vector<int> run = runs_of(problem, sides);
  double time = 0;
  std::set<int> parts;
  for (std::uint32_t unit = 0; unit < sides.size(); ++unit) {
    time += sides[unit] != 0 ? problem.acc_us[unit] : problem.cpu_us[unit];
    if (sides[unit] != 0) parts.insert(run[unit]);
  }
  time += problem.launch_us * static_cast<double>(parts.size());
  for (std::uint32_t value = 0; value < problem.value_count(); ++value) {
    const double us = std::max(problem.crossing_us[value], 0.0);
    const std::uint32_t maker = problem.producer[value];
    const int home = maker == kHost ? -1 : run[maker];
    const bool made_on_acc = maker != kHost && sides[maker] != 0;
    const auto readers = problem.readers.of(value);
    const bool cpu_reads =
        problem.host_reads[value] != 0 ||
        std::any_of(readers.begin(), readers.end(), [&](auto unit) { return sides[unit] == 0; });
    std::set<int> entered;
    for (const std::uint32_t reader : readers) {
      if (sides[reader] != 0 && run[reader] != home) entered.insert(run[reader]);
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

double least_time(const PlacementProblem& problem) {
  double least = std::numeric_limits<double>::infinity();
  Sides sides(problem.unit_count());
  for (std::uint32_t choice = 0; choice < 1U << sides.size(); ++choice) {
    for (std::uint32_t unit = 0; unit < sides.size(); ++unit) sides[unit] = choice >> unit & 1U;
    if (is_allowed(problem, sides)) least = std::min(least, plain_time(problem, sides));
  }
  return least;
}

}  // namespace cleave
