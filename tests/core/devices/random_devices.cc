#include "tests/core/devices/random_devices.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "core/devices/search.h"

namespace cleave {

double fraction(std::mt19937& random) { return static_cast<double>(random() % 10'000) / 10'000; }

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

DeviceProblem random_devices(const RandomDevices& wish) {
  std::mt19937 random(wish.seed);
  const auto between = [&](double least, double most) {
    return least + (most - least) * fraction(random);
  };
  DeviceProblem problem;
  problem.residency = wish.residency;
  const double dear = std::array{.3, 1.0, 3.0}[random() % 3];
  for (std::size_t i = 0; i < wish.targets; ++i) {
    DeviceTarget target{.down_cost = dear * between(.5, 1.5), .up_cost = dear * between(.5, 1.5)};
    target.launch_cost = between(0, wish.most_launch_cost);
    problem.targets.push_back(target);
  }
  if (wish.has_links) {
    problem.links.push_back({0, 1, random() % 2 == 0 ? 0 : between(0, 1)});
    problem.links.push_back({1, 0, between(0, 2)});
  }
  const auto add_value = [&](std::uint32_t maker, std::uint32_t first, double chance) {
    bool is_read = false;
    for (std::uint32_t reader = first; reader < wish.units; ++reader) {
      if (fraction(random) >= std::min(.9, chance)) continue;
      problem.readers.add(reader);
      is_read = true;
    }
    problem.readers.end_list();
    problem.producer.push_back(maker);
    problem.bytes.push_back(std::array{.2, 1.0, 3.0}[random() % 3]);
    const bool is_input = maker == DeviceProblem::kHost;
    problem.host_reads.push_back(!is_input && (!is_read || random() % 10 == 0) ? 1 : 0);
  };
  for (std::uint32_t unit = 0; unit < wish.units; ++unit) {
    for (std::size_t i = 0; i < wish.targets; ++i) {
      const double cost = between(.3, 6);
      problem.unit_costs.push_back(random() % 4 == 0 ? DeviceProblem::kRefused : cost);
    }
    problem.unit_costs.push_back(between(2, 20));
    add_value(unit, unit + 1, 2.0 / static_cast<double>(wish.units - unit));
    if (!wish.has_weights) continue;
    if (random() % 3 != 0) problem.weights.add(unit);
    if (unit > 0 && random() % 5 == 0) problem.weights.add(unit - 1);
    problem.weights.end_list();
    problem.weight_bytes.push_back(static_cast<double>(random() % 9));
  }
  add_value(DeviceProblem::kHost, 0, .2);
  if (wish.has_state) add_state(random, problem);
  return problem;
}

void add_state(std::mt19937& random, DeviceProblem& problem) {
  Adjacency readers;
  for (std::uint32_t value = 0; value < problem.value_count(); ++value) {
    const auto now = problem.readers.of(value);
    for (const std::uint32_t reader : now) readers.add(reader);
    std::set<std::uint32_t> later;
    const bool is_state = problem.producer[value] != DeviceProblem::kHost && random() % 3 == 0;
    for (int i = 0; is_state && i < 2; ++i) {
      const auto reader = static_cast<std::uint32_t>(random() % problem.unit_count());
      if (reader != problem.producer[value] && std::ranges::find(now, reader) == now.end()) {
        later.insert(reader);
      }
    }
    for (const std::uint32_t reader : later) readers.add(reader);
    readers.end_list();
    if (is_state) problem.host_reads[value] = 0;
    problem.later_readers.push_back(is_state ? static_cast<std::int32_t>(later.size()) : -1);
  }
  problem.readers = std::move(readers);
}

DeviceProblem any_devices(std::uint32_t seed, std::size_t units, std::size_t targets) {
  return random_devices({.seed = seed,
                         .units = units,
                         .targets = targets,
                         .most_launch_cost = (seed % 4) * 2.0,
                         .residency = seed % 3 == 0 ? Residency::off : Residency::on});
}

namespace {

Adjacency readers_of_units(const DeviceProblem& problem) {
  std::vector<std::vector<std::uint32_t>> readers(problem.unit_count());
  for (std::uint32_t value = 0; value < problem.value_count(); ++value) {
    const std::uint32_t maker = problem.producer[value];
    if (maker == DeviceProblem::kHost) continue;
    const auto more = problem.readers_now(value);
    readers[maker].insert(readers[maker].end(), more.begin(), more.end());
  }
  Adjacency lists;
  for (const auto& list : readers) {
    for (const std::uint32_t reader : list) lists.add(reader);
    lists.end_list();
  }
  return lists;
}

// The link that replaces the way through the host; null: there is none.
const DirectLink* link_between(const DeviceProblem& problem, DeviceIndex from, DeviceIndex to) {
  for (const DirectLink& link : problem.links) {
    const double way = problem.targets[link.from].up_cost + problem.targets[link.to].down_cost;
    if (link.from == from && link.to == to && link.cost <= way) return &link;
  }
  return nullptr;
}

}  // namespace

double plain_cost(const DeviceProblem& problem, const Devices& devices) {
  const Adjacency readers = readers_of_units(problem);
  const RoundsGraph graph(readers);
  const Rounds rounds = find_rounds({graph, devices, problem.device_count()});
  double cost = 0;
  for (std::uint32_t unit = 0; unit < devices.size(); ++unit) {
    cost += problem.cost(unit, devices[unit]);
  }
  for (const DeviceIndex device : rounds.devices) {
    if (device != problem.host()) cost += problem.targets[device].launch_cost;
  }
  for (std::uint32_t value = 0; value < problem.value_count(); ++value) {
    const std::uint32_t maker = problem.producer[value];
    const int home_part = maker == DeviceProblem::kHost ? -1 : int(rounds.part_of[maker]);
    const DeviceIndex home = maker == DeviceProblem::kHost ? problem.host() : devices[maker];
    const auto now = problem.readers_now(value);
    std::set<std::pair<DeviceIndex, int>> places;  // where it goes: a device, or a part of one
    for (const std::uint32_t reader : problem.readers.of(value)) {
      const int part = static_cast<int>(rounds.part_of[reader]);
      const bool is_by_device =
          problem.residency == Residency::on || std::ranges::find(now, reader) == now.end();
      const bool is_there = is_by_device ? devices[reader] == home : part == home_part;
      if (!is_there) places.emplace(devices[reader], problem.residency == Residency::on ? 0 : part);
    }
    if (problem.host_reads[value] != 0) places.emplace(problem.host(), -1);
    bool goes_up = false;
    for (const auto& [device, part] : places) {
      const DirectLink* link = link_between(problem, home, device);
      if (link != nullptr) cost += problem.bytes[value] * link->cost;
      if (link != nullptr) continue;
      goes_up = true;
      if (device != problem.host())
        cost += problem.bytes[value] * problem.targets[device].down_cost;
    }
    if (goes_up && home != problem.host()) {
      cost += problem.bytes[value] * problem.targets[home].up_cost;
    }
  }
  return cost;
}

namespace {

// Whether a device holds a value while a unit runs in one of its parts.
class Holding {
 public:
  Holding(const DeviceProblem& problem, const Rounds& rounds)
      : problem_(problem), rounds_(rounds) {}

  bool holds(std::uint32_t value, std::uint32_t running) const {
    const std::uint32_t part = rounds_.part_of[running];
    std::vector<std::uint32_t> users;
    const auto readers = problem_.readers.of(value);
    users.assign(readers.begin(), readers.end());
    const bool is_made = problem_.producer[value] != DeviceProblem::kHost;
    if (is_made) users.push_back(problem_.producer[value]);
    if (problem_.is_state(value)) {  // where it stays, it is held as weights are
      const auto now = problem_.readers_now(value);
      return std::none_of(users.begin() + static_cast<std::ptrdiff_t>(now.size()), users.end(),
                          [&](std::uint32_t unit) {
                            return rounds_.devices[rounds_.part_of[unit]] == rounds_.devices[part];
                          }) &&
             holds(users, running);
    }
    const auto is_here = [&](std::uint32_t unit) { return rounds_.part_of[unit] == part; };
    const bool stays = is_made && problem_.host_reads[value] == 0 &&
                       std::all_of(users.begin(), users.end(), is_here);
    if (stays) {
      const auto [first, last] = std::minmax_element(users.begin(), users.end());
      return *first <= running && running <= *last;
    }
    return holds(users, running);
  }

 private:
  // Whether a device with units that make or read a value holds it for those of other parts.
  bool holds(const std::vector<std::uint32_t>& users, std::uint32_t running) const {
    const std::uint32_t part = rounds_.part_of[running];
    const auto is_here = [&](std::uint32_t unit) { return rounds_.part_of[unit] == part; };
    if (std::any_of(users.begin(), users.end(), is_here)) return true;
    if (problem_.residency == Residency::off) return false;
    const auto is_used_on_it = [&](bool before) {
      return std::any_of(users.begin(), users.end(), [&](std::uint32_t unit) {
        const std::uint32_t other = rounds_.part_of[unit];
        return rounds_.devices[other] == rounds_.devices[part] && (other < part) == before;
      });
    };
    return is_used_on_it(true) && is_used_on_it(false);
  }

  const DeviceProblem& problem_;
  const Rounds& rounds_;
};

}  // namespace

std::vector<double> plain_peaks(const DeviceProblem& problem, const Devices& devices) {
  const Adjacency readers = readers_of_units(problem);
  const RoundsGraph graph(readers);
  const Rounds rounds = find_rounds({graph, devices, problem.device_count()});
  const Holding holding(problem, rounds);
  std::vector<double> peaks(problem.device_count(), 0);
  std::vector<std::set<std::uint32_t>> weights(problem.device_count());
  for (std::uint32_t unit = 0; unit < problem.weights.count(); ++unit) {
    for (const std::uint32_t weight : problem.weights.of(unit))
      weights[devices[unit]].insert(weight);
  }
  for (std::uint32_t unit = 0; unit < devices.size(); ++unit) {
    if (devices[unit] == problem.host()) continue;
    double bytes = 0;
    for (const std::uint32_t weight : weights[devices[unit]]) bytes += problem.weight_bytes[weight];
    for (std::uint32_t value = 0; value < problem.value_count(); ++value) {
      if (holding.holds(value, unit)) bytes += problem.bytes[value];
    }
    peaks[devices[unit]] = std::max(peaks[devices[unit]], bytes);
  }
  return peaks;
}

double least_of_all(const DeviceProblem& problem, double at_most) {
  DeviceScorer scorer(problem);
  double least = at_most;
  Devices devices(problem.unit_count(), 0);
  while (true) {
    bool is_accepted = true;
    for (std::uint32_t unit = 0; unit < devices.size(); ++unit) {
      is_accepted = is_accepted && problem.accepts(devices[unit], unit);
    }
    if (is_accepted) least = std::min(least, scorer.total(devices, least));
    std::size_t unit = 0;
    while (unit < devices.size() && devices[unit] == problem.host()) devices[unit++] = 0;
    if (unit == devices.size()) return least;
    ++devices[unit];
  }
}

}  // namespace cleave
