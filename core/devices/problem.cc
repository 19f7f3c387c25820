// The problem of placing nodes on several devices, and what a placement costs.

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "core/cost/cost.h"
#include "core/devices/devices.h"
#include "core/devices/search.h"
#include "core/graph/state.h"

namespace cleave {

// ---- problem ----

namespace {

constexpr auto kHost = DeviceProblem::kHost;
// Units up to which placements are compared by the fewest rounds that a search finds. Above, the rule alone
// compares them: a search costs many times as much, for each of thousands of placements, and a round more
// matters less among many.
constexpr std::size_t kMostSearched = 2'000;

// The units that read from each unit.
Adjacency readers_by_unit(const DeviceProblem& problem) {
  return adjacency_of(problem.unit_count(), [&](const auto& take) {
    for (std::uint32_t value = 0; value < problem.value_count(); ++value) {
      const std::uint32_t maker = problem.producer[value];
      if (maker == kHost) continue;
      for (const std::uint32_t reader : problem.readers_now(value)) take(maker, reader);
    }
  });
}

// More than any placement costs. So a placement that fits is always better than one that does not, and of two
// that do not, the one that is less beyond its limits: the search can walk through what does not fit.
double penalty_of(const DeviceProblem& problem, const LinkCosts& links) {
  double sum = 1;
  for (const double cost : problem.unit_costs) sum += std::max(cost, 0.0);
  double of_byte = 0;
  double launches = 0;
  for (DeviceIndex device = 0; device < problem.host(); ++device) {
    of_byte += links.up(device) + links.down(device);
    launches += links.launch(device);
  }
  launches += problem.host_launch_cost;
  sum += launches * static_cast<double>(problem.unit_count());
  for (std::uint32_t value = 0; value < problem.value_count(); ++value) {
    sum +=
        problem.bytes[value] * of_byte * static_cast<double>(problem.readers.of(value).size() + 1);
  }
  return sum;
}

// The devices that read a value, without the one that made it.
std::uint32_t other_devices(const DeviceProblem& problem, const Devices& devices,
                            std::uint32_t value, DeviceIndex home) {
  std::uint32_t others = problem.host_reads[value] != 0 ? 1U << problem.host() : 0;
  for (const std::uint32_t reader : problem.readers.of(value)) others |= 1U << devices[reader];
  return others & ~(1U << home);
}

}  // namespace

bool has_memory(const DeviceProblem& problem) {
  return std::ranges::any_of(problem.targets,
                             [](const DeviceTarget& target) { return target.memory.has_value(); });
}

LinkCosts::LinkCosts(const DeviceProblem& problem, double in_share, double out_share)
    : up_(problem.device_count(), 0),
      down_(problem.device_count(), 0),
      launch_(problem.device_count(), 0),
      direct_(problem.device_count() * problem.device_count(), -1) {
  const auto share = [&](DeviceIndex device, double of_full) {
    return problem.targets[device].duplex == Duplex::full ? of_full : 1;
  };
  for (DeviceIndex i = 0; i < problem.host(); ++i) {
    up_[i] = problem.targets[i].up_cost * share(i, out_share);
    down_[i] = problem.targets[i].down_cost * share(i, in_share);
    launch_[i] = problem.targets[i].launch_cost;
  }
  for (const DirectLink& link : problem.links) {
    const double by_host = problem.targets[link.from].up_cost + problem.targets[link.to].down_cost;
    if (link.cost > by_host) continue;
    direct_[link.from * up_.size() + link.to] = link.cost * share(link.to, in_share);
  }
}

DeviceScorer::DeviceScorer(const DeviceProblem& problem)
    : problem_(problem),
      links_(problem),
      unit_readers_(readers_by_unit(problem)),
      rounds_graph_(unit_readers_),
      has_memory_(has_memory(problem)),
      penalty_(penalty_of(problem, links_)),
      known_(problem.unit_count()) {}

Rounds DeviceScorer::rounds(const Devices& devices, DeviceIndex first_of_two) {
  if (problem_.device_count() != 2) {
    return find_rounds({rounds_graph_, devices, problem_.device_count()});
  }
  return rounds_of(find_turns(devices, first_of_two));
}

// The rounds of two devices that take turns: each part is a round.
Rounds DeviceScorer::rounds_of(const Parts& parts) {
  Rounds rounds{.devices = {parts.devices.begin(), parts.devices.end()},
                .units = members_of(parts.of, parts.devices.size()),
                .part_of = {parts.of.begin(), parts.of.end()},
                .is_fewest = true};
  rounds.least_parts = rounds.count();
  for (const DeviceIndex device : rounds.devices) rounds.acc_parts += device == 0 ? 1 : 0;
  rounds.least_acc_parts = rounds.acc_parts;
  return rounds;
}

Rounds DeviceScorer::quick_rounds(const Devices& devices, bool lists_units) {
  if (problem_.device_count() == 2) return rounds(devices);
  RoundsEffort effort{.lists_units = lists_units};
  if (problem_.unit_count() > kMostSearched) effort.states = 0;
  return find_rounds({rounds_graph_, devices, problem_.device_count()}, effort);
}

// The turn of a unit is the lowest of its own device that is not below that of a unit it reads from.
// All turns are taken but perhaps the first.
DeviceScorer::Parts DeviceScorer::find_turns(const Devices& devices, DeviceIndex first) {
  turn_of_.resize(devices.size());
  std::uint32_t count = 0;
  bool is_first_taken = false;
  for (std::uint32_t unit = 0; unit < devices.size(); ++unit) {
    turn_of_[unit] = devices[unit] == first ? 0 : 1;
  }
  for (const std::uint32_t unit : rounds_graph_.order) {
    const std::uint32_t turn = turn_of_[unit];
    count = std::max(count, turn + 1);
    is_first_taken = is_first_taken || turn == 0;
    for (const std::uint32_t reader : unit_readers_.of(unit)) {
      const std::uint32_t least = turn + (devices[reader] != devices[unit] ? 1U : 0U);
      turn_of_[reader] = std::max(turn_of_[reader], least);
    }
  }
  const std::uint32_t skipped = is_first_taken || count == 0 ? 0 : 1;
  if (skipped > 0) {
    for (std::uint32_t& turn : turn_of_) --turn;
  }
  turns_.resize(count - skipped);
  for (std::uint32_t turn = 0; turn < turns_.size(); ++turn) {
    turns_[turn] = ((turn + skipped) % 2 == 0) ? first : static_cast<DeviceIndex>(1 - first);
  }
  return {turn_of_, turns_};
}

DeviceScorer::Known& DeviceScorer::known(const Devices& devices) {
  steps_ += size();
  return known_.of(devices);
}

double DeviceScorer::cost(const Devices& devices, double limit, DeviceIndex first_of_two) {
  if (limit < std::numeric_limits<double>::infinity()) {
    const double least = at_least(devices);
    if (least >= limit) return least;
  }
  const bool is_for_two = problem_.device_count() == 2;
  const Parts of = is_for_two ? find_turns(devices, first_of_two) : parts(devices);
  score_parts(devices, of, problem_.residency);
  if (score_.total >= limit) return score_.total;
  if (is_for_two && has_memory_) rounds_ = rounds_of(of);
  if (has_memory_) add_peaks(devices, rounds_);
  add_penalty();
  return score_.total + score_.penalty;
}

DeviceScorer::Parts DeviceScorer::parts(const Devices& devices) {
  if (problem_.device_count() == 2) return find_turns(devices, problem_.host());
  rounds_ = quick_rounds(devices, has_memory_);
  return {rounds_.part_of, rounds_.devices};
}

const std::vector<double>& DeviceScorer::part_costs(const Devices& devices, const Parts& parts) {
  score_parts(devices, parts, Residency::off);
  return score_.part_costs;
}

// Without the rounds. Links of the two directions overlap at best, and each device that runs a unit runs a part.
double DeviceScorer::at_least(const Devices& devices) const {
  double sum = 0;
  std::uint32_t used = 0;
  for (std::uint32_t unit = 0; unit < devices.size(); ++unit) {
    sum += problem_.cost(unit, devices[unit]);
    used |= 1U << devices[unit];
  }
  for (DeviceIndex device = 0; device < problem_.host(); ++device) {
    if ((used >> device & 1U) != 0) sum += least_launch(device);
  }
  for (std::uint32_t value = 0; value < problem_.value_count(); ++value) {
    sum += least_transfer(devices, value);
  }
  return sum;
}

double DeviceScorer::least_transfer(const Devices& devices, std::uint32_t value) const {
  const std::uint32_t maker = problem_.producer[value];
  const DeviceIndex home = maker == kHost ? problem_.host() : devices[maker];
  const std::uint32_t others = other_devices(problem_, devices, value, home);
  if (others == 0) return 0;
  // A part waits for the longer direction of a full-duplex link, which is half of both or more.
  const auto share = [&](DeviceIndex device) {
    return problem_.targets[device].duplex == Duplex::half ? 1 : 0.5;
  };
  double of_byte = 0;
  bool goes_up = false;
  for (DeviceIndex to = 0; to <= problem_.host(); ++to) {
    if ((others >> to & 1U) == 0) continue;
    const bool is_direct = links_.is_direct(home, to);
    goes_up = goes_up || !is_direct;
    if (to != problem_.host()) {
      of_byte += share(to) * (is_direct ? links_.direct(home, to) : links_.down(to));
    }
  }
  if (goes_up && home != problem_.host()) of_byte += share(home) * links_.up(home);
  return of_byte * problem_.bytes[value];
}

DeviceScore DeviceScorer::score(const Devices& devices, const Rounds& rounds) {
  score_parts(devices, {rounds.part_of, rounds.devices}, problem_.residency);
  add_peaks(devices, rounds);
  add_penalty();
  return score_;
}

// Without what targets hold, and without the penalty.
void DeviceScorer::score_parts(const Devices& devices, const Parts& parts, Residency residency) {
  const std::size_t count = problem_.device_count();
  score_.unit_costs.assign(count, 0);
  score_.link_costs.assign(count, 0);
  score_.launch_costs.assign(count, 0);
  score_.parts.assign(count, 0);
  score_.peak_bytes.assign(count, 0);
  score_.part_costs.assign(parts.devices.size(), 0);
  for (std::uint32_t unit = 0; unit < devices.size(); ++unit) {
    const double cost = problem_.cost(unit, devices[unit]);
    score_.unit_costs[devices[unit]] += cost;
    score_.part_costs[parts.of[unit]] += cost;
  }
  const auto launch_of = [&](DeviceIndex device) {
    return device == problem_.host() ? problem_.host_launch_cost : links_.launch(device);
  };
  for (std::size_t part = 0; part < parts.devices.size(); ++part) {
    const DeviceIndex device = parts.devices[part];
    ++score_.parts[device];
    score_.part_costs[part] += launch_of(device);
  }
  for (DeviceIndex device = 0; device < count; ++device) {
    score_.launch_costs[device] = launch_of(device) * static_cast<double>(score_.parts[device]);
  }
  add_transfers(devices, parts, residency);
  score_.penalty = 0;
  score_.total = score_.unit_costs.back();
  for (std::size_t i = 0; i + 1 < count; ++i) score_.total += score_.unit_costs[i];
  for (const double cost : score_.link_costs) score_.total += cost;
  for (const double cost : score_.launch_costs) score_.total += cost;
}

// A value enters with the first part that reads it, and leaves with the part that made it.
void DeviceScorer::add_transfers(const Devices& devices, const Parts& parts, Residency residency) {
  const DeviceIndex host = problem_.host();
  in_.assign(parts.devices.size(), 0);
  out_.assign(parts.devices.size(), 0);
  seen_by_.assign(parts.devices.size(), 0);
  for (std::uint32_t value = 0; value < problem_.value_count(); ++value) {
    const std::uint32_t maker = problem_.producer[value];
    const std::uint32_t home_part = maker == kHost ? kHost : parts.of[maker];
    const DeviceIndex home = maker == kHost ? host : devices[maker];
    bool goes_up = problem_.host_reads[value] != 0;
    const auto enter = [&](std::uint32_t part, DeviceIndex to) {
      const bool is_direct = links_.is_direct(home, to);
      goes_up = goes_up || !is_direct;
      if (to == host) return;
      in_[part] += problem_.bytes[value] * (is_direct ? links_.direct(home, to) : links_.down(to));
    };
    if (residency == Residency::on) {
      first_of_.assign(problem_.device_count(), kHost);
      std::uint32_t others = 0;
      for (const std::uint32_t reader : problem_.readers.of(value)) {
        const DeviceIndex to = devices[reader];
        if (to == home) continue;
        others |= 1U << to;
        first_of_[to] = std::min(first_of_[to], parts.of[reader]);
      }
      for (DeviceIndex to = 0; others >> to != 0; ++to) {
        if ((others >> to & 1U) != 0) enter(first_of_[to], to);
      }
    } else {
      const auto readers = problem_.readers.of(value);
      const std::size_t now = problem_.readers_now(value).size();
      for (std::size_t i = 0; i < readers.size(); ++i) {
        const std::uint32_t reader = readers[i];
        const std::uint32_t part = parts.of[reader];
        if (i >= now && devices[reader] == home) continue;
        if (part == home_part || std::exchange(seen_by_[part], value + 1) == value + 1) continue;
        enter(part, devices[reader]);
      }
    }
    if (goes_up && home != host) out_[home_part] += problem_.bytes[value] * links_.up(home);
  }
  for (std::size_t part = 0; part < parts.devices.size(); ++part) {
    const DeviceIndex device = parts.devices[part];
    if (device == host) continue;
    const bool is_half = problem_.targets[device].duplex == Duplex::half;
    const double cost = is_half ? in_[part] + out_[part] : std::max(in_[part], out_[part]);
    score_.link_costs[device] += cost;
    score_.part_costs[part] += cost;
  }
}

namespace {

// Whether only the part that makes the value reads it, as is so of most values.
bool is_inside(const DeviceProblem& problem, const Rounds& rounds, std::uint32_t value) {
  const std::uint32_t maker = problem.producer[value];
  if (maker == kHost || problem.host_reads[value] != 0) return false;
  return std::ranges::all_of(problem.readers.of(value), [&](std::uint32_t reader) {
    return rounds.part_of[reader] == rounds.part_of[maker];
  });
}

// The parts that a value is in: those that read it, each once, ascending, and that of its maker.
struct Uses {
  std::vector<std::uint32_t> readers;
  std::uint32_t home = kHost;  // kHost: the host gives it to the model
};

void find_uses(const DeviceProblem& problem, const Rounds& rounds, std::uint32_t value,
               Uses& uses) {
  const std::uint32_t maker = problem.producer[value];
  uses.home = maker == kHost ? kHost : rounds.part_of[maker];
  uses.readers.clear();
  for (const std::uint32_t reader : problem.readers.of(value)) {
    uses.readers.push_back(rounds.part_of[reader]);
  }
  if (uses.readers.size() < 2) return;
  sort_unique(uses.readers);
}

}  // namespace

// What enters or leaves a part is held while it runs, with residency from the device's first part
// that has the value to its last. Other values are held from their maker to their last reader.
void DeviceScorer::add_peaks(const Devices& devices, const Rounds& rounds) {
  std::vector<std::uint32_t> position(problem_.unit_count());
  for (std::uint32_t i = 0; i < rounds.units.items.size(); ++i) position[rounds.units.items[i]] = i;
  std::vector<std::vector<double>> change(problem_.targets.size(),
                                          std::vector<double>(problem_.unit_count() + 1, 0));
  const auto hold = [&](DeviceIndex device, std::size_t first, std::size_t last, double bytes) {
    if (device == problem_.host()) return;
    change[device][first] += bytes;
    change[device][last] -= bytes;
  };
  Uses uses;
  std::vector<std::uint32_t> last_part(problem_.device_count());
  for (std::uint32_t value = 0; value < problem_.value_count(); ++value) {
    const double bytes = problem_.bytes[value];
    const std::uint32_t maker = problem_.producer[value];
    std::uint32_t held = 0;
    if (problem_.is_state(value)) {
      // Held all the time where it is written, and where the next step reads it: see
      // GraphProblemMaker::add_weights(). Elsewhere it is a value like others.
      if (maker != kHost) held |= 1U << devices[maker];
      const auto readers = problem_.readers.of(value);
      for (std::size_t i = problem_.readers_now(value).size(); i < readers.size(); ++i) {
        held |= 1U << devices[readers[i]];
      }
    } else if (is_inside(problem_, rounds, value)) {
      auto [first, last] = std::pair(position[maker], position[maker]);
      for (const std::uint32_t reader : problem_.readers.of(value)) {
        first = std::min(first, position[reader]);
        last = std::max(last, position[reader]);
      }
      hold(devices[maker], first, last + 1, bytes);
      continue;
    }
    find_uses(problem_, rounds, value, uses);
    if (uses.home != kHost && (uses.readers.empty() || uses.readers.front() != uses.home)) {
      uses.readers.insert(uses.readers.begin(), uses.home);  // it comes before its readers
    }
    for (const std::uint32_t part : uses.readers) last_part[rounds.devices[part]] = part;
    for (const std::uint32_t part : uses.readers) {
      const DeviceIndex device = rounds.devices[part];
      if ((held >> device & 1U) != 0) continue;
      const bool is_kept = problem_.residency == Residency::on;
      if (is_kept) held |= 1U << device;
      hold(device, rounds.units.begin[part],
           rounds.units.begin[(is_kept ? last_part[device] : part) + 1], bytes);
    }
  }
  std::vector<double> weights(problem_.device_count(), 0);
  std::vector<std::uint32_t> seen(problem_.weight_bytes.size(), 0);
  for (std::uint32_t unit = 0; unit < problem_.weights.count(); ++unit) {
    for (const std::uint32_t weight : problem_.weights.of(unit)) {
      if ((seen[weight] >> devices[unit] & 1U) != 0) continue;
      seen[weight] |= 1U << devices[unit];
      weights[devices[unit]] += problem_.weight_bytes[weight];
    }
  }
  for (DeviceIndex device = 0; device < problem_.host(); ++device) {
    double now = weights[device];
    double most = now;
    for (const double bytes : change[device]) most = std::max(most, now += bytes);
    score_.peak_bytes[device] = static_cast<std::uint64_t>(most);
  }
}

void DeviceScorer::add_penalty() {
  for (std::size_t i = 0; i < problem_.targets.size(); ++i) {
    const DeviceTarget& target = problem_.targets[i];
    if (score_.parts[i] > target.most_parts) {
      score_.penalty += penalty_ * static_cast<double>(score_.parts[i] - target.most_parts);
    }
    if (target.memory && score_.peak_bytes[i] > *target.memory) {
      const auto over = static_cast<double>(score_.peak_bytes[i] - *target.memory);
      score_.penalty += penalty_ * (1 + over / static_cast<double>(*target.memory + 1));
    }
  }
}

// ---- changed least ----

ChangedLeast::ChangedLeast(const DeviceScorer& scorer)
    : scorer_(scorer),
      transfers_(scorer.problem().value_count()),
      seen_(scorer.problem().value_count(), 0) {
  const DeviceProblem& problem = scorer.problem();
  Adjacency users;  // by value
  for (std::uint32_t value = 0; value < problem.value_count(); ++value) {
    if (problem.producer[value] != kHost) users.add(problem.producer[value]);
    for (const std::uint32_t reader : problem.readers.of(value)) users.add(reader);
    users.end_list();
  }
  values_of_ = reversed(users, problem.unit_count());
}

// All anew, as ChangedTotal::keep().
void ChangedLeast::set(const Devices& devices) {
  devices_ = devices;
  unit_counts_.assign(scorer_.problem().device_count(), 0);
  sum_ = 0;
  for (std::uint32_t unit = 0; unit < devices.size(); ++unit) {
    sum_ += scorer_.problem().cost(unit, devices[unit]);
    ++unit_counts_[devices[unit]];
  }
  for (std::uint32_t value = 0; value < transfers_.size(); ++value) {
    sum_ += transfers_[value] = scorer_.least_transfer(devices, value);
  }
}

double ChangedLeast::of(const Devices& devices, std::span<const std::uint32_t> units) {
  ++calls_;
  changed_counts_ = unit_counts_;
  double sum = sum_;
  for (const std::uint32_t unit : units) {
    const DeviceProblem& problem = scorer_.problem();
    sum += problem.cost(unit, devices[unit]) - problem.cost(unit, devices_[unit]);
    --changed_counts_[devices_[unit]];
    ++changed_counts_[devices[unit]];
    for (const std::uint32_t value : values_of_.of(unit)) {
      if (std::exchange(seen_[value], calls_) == calls_) continue;
      sum += scorer_.least_transfer(devices, value) - transfers_[value];
    }
  }
  for (DeviceIndex device = 0; device < changed_counts_.size(); ++device) {
    if (changed_counts_[device] > 0) sum += scorer_.least_launch(device);
  }
  return sum;
}

// ---- changed total ----

bool ChangedTotal::serves(const DeviceProblem& problem) {
  return problem.targets.size() == 1 && !has_memory(problem) &&
         problem.residency == Residency::off && problem.targets[0].duplex == Duplex::half;
}

ChangedTotal::ChangedTotal(const DeviceScorer& scorer)
    : problem_(scorer.problem()),
      position_of_(scorer.order().size()),
      units_(scorer.order()),
      penalty_(scorer.penalty()),
      most_before_(units_.size() + 1, 0),
      most_from_(units_.size() + 1, 0),
      last_read_before_(units_.size() + 1, 0),
      sides_(units_.size(), 0),
      turns_(units_.size(), 0),
      seen_turn_(units_.size() + 2, 0) {
  add_units(scorer);
  add_values();
}

void ChangedTotal::add_units(const DeviceScorer& scorer) {
  const auto count = static_cast<std::uint32_t>(units_.size());
  for (std::uint32_t position = 0; position < count; ++position) {
    position_of_[units_[position]] = position;
  }
  Adjacency readers;
  for (std::uint32_t position = 0; position < count; ++position) {
    last_reader_.push_back(0);
    for (const std::uint32_t reader : scorer.unit_readers().of(units_[position])) {
      readers.add(position_of_[reader]);
      last_reader_.back() = std::max(last_reader_.back(), position_of_[reader]);
    }
    readers.end_list();
  }
  makers_ = reversed(readers);
  while (source_count_ < count && makers_.of(source_count_).empty()) ++source_count_;
}

void ChangedTotal::add_values() {
  const DeviceTarget& target = problem_.targets[0];
  Adjacency users;  // by value: its maker and its readers
  for (std::uint32_t value = 0; value < problem_.value_count(); ++value) {
    const double in = problem_.bytes[value] * target.down_cost;
    const double out = problem_.bytes[value] * target.up_cost;
    if (in + out <= 0) continue;
    const std::uint32_t unit = problem_.producer[value];
    const std::uint32_t maker = unit == kHost ? kHost : position_of_[unit];
    values_.push_back({in, out, maker, 0, problem_.host_reads[value] != 0,
                       static_cast<std::uint32_t>(problem_.readers_now(value).size())});
    if (maker != kHost) users.add(maker);
    for (const std::uint32_t reader : problem_.readers.of(value)) {
      readers_.add(position_of_[reader]);
      users.add(position_of_[reader]);
      values_.back().last_reader = std::max(values_.back().last_reader, position_of_[reader]);
    }
    readers_.end_list();
    users.end_list();
  }
  values_of_ = reversed(users, units_.size());
  for (std::uint32_t position = 0; position < units_.size(); ++position) {
    std::uint32_t& last = last_read_before_[position + 1];
    last = std::max(last_read_before_[position], last_reader_[position]);
    for (const std::uint32_t value : values_of_.of(position)) {
      const bool is_read_before = readers_.of(value).size() > values_[value].now;
      if (values_[value].maker == kHost || is_read_before)
        last = std::max(last, values_[value].last_reader);
    }
  }
  costs_.assign(values_.size(), 0);
  seen_value_.assign(values_.size(), 0);
}

void ChangedTotal::set(const Devices& devices) {
  for (std::uint32_t unit = 0; unit < devices.size(); ++unit) {
    sides_[position_of_[unit]] = devices[unit] == 0 ? 1 : 0;
  }
  keep();
}

// All anew, so that no rounding of single steps adds up.
void ChangedTotal::keep() {
  const auto count = static_cast<std::uint32_t>(sides_.size());
  end_ = count;
  shift_ = 0;
  unit_costs_ = 0;
  sources_on_host_ = 0;
  for (std::uint32_t position = 0; position < count; ++position) {
    turns_[position] = find_turn(position);
    most_before_[position + 1] = std::max(most_before_[position], turns_[position]);
    unit_costs_ += cost_of(position);
    if (position < source_count_ && sides_[position] == 0) ++sources_on_host_;
  }
  for (std::uint32_t position = count; position > 0; --position) {
    most_from_[position - 1] = std::max(most_from_[position], turns_[position - 1]);
  }
  link_costs_ = 0;
  for (std::uint32_t value = 0; value < values_.size(); ++value) {
    link_costs_ += costs_[value] = crossing_cost(value);
  }
  kept_turns_ = turns_;
  changed_unit_costs_ = unit_costs_;
  flipped_.clear();
}

void ChangedTotal::flip(std::uint32_t unit) {
  const std::uint32_t position = position_of_[unit];
  const double more = problem_.cost(unit, 0) - problem_.cost(unit, 1);  // on the target
  const bool was_on_acc = sides_[position] != 0;
  changed_unit_costs_ += was_on_acc ? -more : more;
  if (position < source_count_) sources_on_host_ += was_on_acc ? 1U : ~0U;
  sides_[position] ^= 1U;
  first_ = flipped_.empty() ? position : std::min(first_, position);
  last_ = flipped_.empty() ? position : std::max(last_, position);
  flipped_.push_back(position);
}

// The turn of a unit whose makers have theirs. The CPU's turns are even.
std::uint32_t ChangedTotal::find_turn(std::uint32_t position) const {
  const std::uint32_t side = sides_[position];
  std::uint32_t turn = side;
  for (const std::uint32_t maker : makers_.of(position)) {
    turn = std::max(turn, turns_[maker] + ((turns_[maker] & 1U) ^ side));
  }
  return turn;
}

// Ends where all makers of values that are still to be read moved by as much, and none of them
// changed sides: units that are not sources then move as their makers do.
void ChangedTotal::find_turns() {
  std::uint32_t still_read = last_read_before_[first_];  // by whom: of those that did not move
  std::uint32_t moved_read = 0;                          // of those that moved by shift_
  std::uint32_t others_read = 0;                         // of those that moved otherwise
  shift_ = 0;
  const std::uint32_t must_end = std::max(last_ + 1, source_count_);
  for (end_ = first_; end_ < sides_.size(); ++end_) {
    if (end_ >= must_end && others_read < end_ && (still_read < end_ || moved_read < end_)) {
      if (moved_read < end_) shift_ = 0;
      return;
    }
    turns_[end_] = find_turn(end_);
    const std::uint32_t moved = turns_[end_] - kept_turns_[end_];
    if (moved == 0) {
      still_read = std::max(still_read, last_reader_[end_]);
      continue;
    }
    if ((moved & 1U) != 0) {
      others_read = std::max(others_read, last_reader_[end_]);
      continue;
    }
    if (moved != shift_) {
      others_read = std::max(others_read, moved_read);
      moved_read = 0;
      shift_ = moved;
    }
    moved_read = std::max(moved_read, last_reader_[end_]);
  }
}

double ChangedTotal::total() {
  find_turns();
  std::uint32_t most_turn = most_before_[first_];
  double link_costs = link_costs_;
  const std::uint64_t begin = visit_;
  for (std::uint32_t position = first_; position < end_; ++position) {
    most_turn = std::max(most_turn, turns_[position]);
    const bool has_moved = turns_[position] != kept_turns_[position];
    if (!has_moved && shift_ == 0) continue;
    for (const std::uint32_t value : values_of_.of(position)) {
      // Units from end_ on have all moved alike: a value of one that stayed may cross anew only if they
      // read it.
      if (!has_moved && values_[value].last_reader < end_) continue;
      if (seen_value_[value] > begin) continue;
      link_costs += crossing_cost(value) - costs_[value];
      seen_value_[value] = visit_;
    }
  }
  if (end_ < sides_.size()) most_turn = std::max(most_turn, most_from_[end_] + shift_);
  return changed_unit_costs_ + link_costs + launch_costs(most_turn);
}

// Turns alternate, and a unit's is one above a maker's or one of the first two: none is left out
// between the first and the last.
double ChangedTotal::launch_costs(std::uint32_t most_turn) const {
  const std::uint32_t on_acc = (most_turn + 1) / 2;
  const std::uint32_t on_cpu = most_turn / 2 + (sources_on_host_ > 0 ? 1 : 0);
  const DeviceTarget& target = problem_.targets[0];
  double cost = target.launch_cost * on_acc + problem_.host_launch_cost * on_cpu;
  if (on_acc > target.most_parts) {
    cost += penalty_ * static_cast<double>(on_acc - target.most_parts);
  }
  return cost;
}

// Once into each accelerator part that reads the value from elsewhere, and once out of its own.
double ChangedTotal::crossing_cost(std::uint32_t index) {
  const Value& value = values_[index];
  const std::uint32_t home = value.maker == kHost ? 0 : turn(value.maker);
  const bool is_made_on_acc = (home & 1U) != 0;
  bool leaves = is_made_on_acc && value.host_reads;
  std::uint32_t entries = 0;
  ++visit_;
  const auto readers = readers_.of(index);
  for (std::uint32_t i = 0; i < readers.size(); ++i) {
    const std::uint32_t at = turn(readers[i]);
    if (at == home || (i >= value.now && ((at ^ home) & 1U) == 0)) continue;
    leaves = leaves || is_made_on_acc;
    if ((at & 1U) == 0 || seen_turn_[at] == visit_) continue;
    seen_turn_[at] = visit_;
    ++entries;
  }
  return value.in * entries + (leaves ? value.out : 0);
}

void ChangedTotal::undo() {
  for (const std::uint32_t position : flipped_) {
    sides_[position] ^= 1U;
    if (position < source_count_) sources_on_host_ += sides_[position] == 0 ? 1U : ~0U;
  }
  std::copy(kept_turns_.begin() + first_, kept_turns_.begin() + end_, turns_.begin() + first_);
  changed_unit_costs_ = unit_costs_;
  flipped_.clear();
}

// ---- pieces ----

Pieces::Pieces(std::size_t count) : parent_(count) {
  std::iota(parent_.begin(), parent_.end(), 0U);
}

std::vector<std::vector<std::uint32_t>> Pieces::of(std::span<const std::uint8_t> counts) {
  std::vector<std::vector<std::uint32_t>> found;
  std::vector<std::uint32_t> piece_of(parent_.size());  // by least item
  for (std::uint32_t item = 0; item < parent_.size(); ++item) {
    if (counts[item] == 0) continue;
    const std::uint32_t first = least(item);
    if (first == item) {
      piece_of[item] = static_cast<std::uint32_t>(found.size());
      found.emplace_back();
    }
    found[piece_of[first]].push_back(item);
  }
  return found;
}

// ---- energy ----

DeviceProblem energy_problem(DeviceProblem problem, std::span<const UnitWork> work,
                             std::span<const EnergyNumbers> devices) {
  const double host_byte = devices[problem.host()].pj_per_byte;
  for (std::size_t i = 0; i < problem.targets.size(); ++i) {
    DeviceTarget& target = problem.targets[i];
    const double of_byte = (devices[i].pj_per_byte + host_byte) * kMillijoulesPerPicojoule;
    target.down_cost = target.up_cost = of_byte;
    target.launch_cost = devices[i].mj_per_launch;
    target.duplex = Duplex::half;  // both directions draw, at the same time or not
  }
  problem.host_launch_cost = 0;
  for (DirectLink& link : problem.links) {
    if (link.cost <= 0) continue;
    link.cost =
        (devices[link.from].pj_per_byte + devices[link.to].pj_per_byte) * kMillijoulesPerPicojoule;
  }
  for (std::uint32_t unit = 0; unit < work.size(); ++unit) {
    for (std::size_t device = 0; device < problem.device_count(); ++device) {
      double& cost = problem.unit_costs[unit * problem.device_count() + device];
      if (cost < 0) continue;
      cost = (work[unit].flops * devices[device].pj_per_flop +
              work[unit].bytes * devices[device].pj_per_byte) *
             kMillijoulesPerPicojoule;
    }
  }
  return problem;
}

double all_cpu_mj(const Graph& graph, const EnergyNumbers& cpu) {
  const PerNode<NodeCost> costs = node_costs(graph);
  double flops = 0;
  double bytes = 0;
  for (const NodeId node : graph.nodes()) {
    flops += costs[node].flops.value_or(0);
    bytes += costs[node].bytes.value_or(0);
  }
  return (flops * cpu.pj_per_flop + bytes * cpu.pj_per_byte) * kMillijoulesPerPicojoule;
}

// ---- graph problem ----

namespace {

class GraphProblemMaker {
 public:
  explicit GraphProblemMaker(const GraphProblemInput& input) : input_(input), graph_(input.graph) {}

  GraphProblem run() && {
    add_targets();
    add_units();
    made_.untied_costs = made_.problem.unit_costs;
    for (const ValueId value : graph_.inputs()) add_value(value);
    for (const NodeId node : graph_.nodes()) {
      for (const ValueId value : graph_.outputs(node)) add_value(value);
      add_order(node);
    }
    std::vector<std::int32_t>& later = made_.problem.later_readers;
    if (!later.empty()) later.resize(made_.problem.value_count(), -1);
    add_weights();
    if (ties_) settle_ties();
    return std::move(made_);
  }

 private:
  void add_targets() {
    for (const Machine& machine : input_.machines) {
      const double of_byte = 1e6 / machine.link_bytes_per_second;
      DeviceTarget target{.down_cost = of_byte, .up_cost = of_byte, .duplex = machine.duplex};
      target.launch_cost = machine.launch_us.value_or(0);
      target.memory = machine.acc_memory;
      if (machine.most_acc_parts) target.most_parts = *machine.most_acc_parts;
      made_.problem.targets.push_back(target);
    }
    made_.problem.links = input_.links;
    made_.problem.host_launch_cost = input_.host_launch_us;
    made_.problem.residency = input_.residency;
  }

  bool accepts(std::size_t device, NodeId node) const {
    if (device < input_.accepted.size()) return input_.accepted[device].contains(node);
    return input_.required == nullptr || !input_.required->contains(node);
  }

  std::size_t device_count() const { return input_.accepted.size() + 1; }

  std::optional<double> time_of(std::size_t device, NodeId node) const {
    const bool is_host = device == input_.accepted.size();
    return (is_host ? input_.times.cpu : input_.times.on_target(device)).of(node);
  }

  bool has_all_times(NodeId node) const {
    for (std::size_t device = 0; device < device_count(); ++device) {
      if (accepts(device, node) && !time_of(device, node)) return false;
    }
    return true;
  }

  void add_units() {
    const std::size_t count = device_count();
    std::vector<double>& costs = made_.problem.unit_costs;
    costs.assign(input_.unit_count * count, 0);
    made_.is_unknown.assign(input_.unit_count, 0);
    on_host_.assign(input_.unit_count, 0);
    for (const NodeId node : graph_.nodes()) {
      const std::uint32_t unit = input_.unit_of[node];
      const bool is_known = has_all_times(node);
      if (!is_known) ++made_.unknown_times;
      if (!is_known) made_.is_unknown[unit] = 1;
      for (std::size_t device = 0; device < count; ++device) {
        double& cost = costs[unit * count + device];
        if (!accepts(device, node)) cost = DeviceProblem::kRefused;
        if (cost >= 0 && is_known) cost += *time_of(device, node);
      }
      if (is_known) on_host_[unit] += time_of(count - 1, node).value_or(0);
    }
    for (std::uint32_t unit = 0; unit < input_.unit_count; ++unit) {
      double* const of_unit = &costs[unit * count];
      const bool is_refused =
          std::all_of(of_unit, of_unit + count, [](double cost) { return cost < 0; });
      if (is_refused) of_unit[count - 1] = on_host_[unit];
    }
  }

  // The nodes that run after it without reading from it.
  void add_order(NodeId node) {
    const std::uint32_t unit = input_.unit_of[node];
    readers_.clear();
    for (const NodeId follower : graph_.followers(node)) {
      if (input_.unit_of[follower] != unit) readers_.push_back(input_.unit_of[follower]);
    }
    for (const ValueId output : graph_.outputs(node)) {
      if (graph_.state_of(output) == nullptr) continue;
      for (const NodeId user : graph_.users(output)) {
        if (input_.unit_of[user] != unit && !reads_elements(output, user)) {
          readers_.push_back(input_.unit_of[user]);
        }
      }
    }
    if (readers_.empty()) return;
    sort_unique(readers_);
    add_readers();
    made_.problem.producer.push_back(unit);
    made_.problem.host_reads.push_back(0);
    made_.problem.bytes.push_back(0);
  }

  void add_readers() {
    for (const std::uint32_t reader : readers_) made_.problem.readers.add(reader);
    made_.problem.readers.end_list();
  }

  // Who needs the shape of state alone moves no byte of it.
  bool reads_elements(ValueId value, NodeId user) const {
    return graph_.state_of(value) == nullptr || !reads_shape_alone(graph_, user);
  }

  // Adds to the readers of the last value, the output of the pair, the units that read it in the next step, as the
  // input of the pair.
  void add_later_readers(const StatePair& pair, std::uint32_t maker) {
    const std::vector<std::uint32_t> now = readers_;
    readers_.clear();
    if (is_written(graph_, pair)) {
      for (const NodeId user : graph_.users(pair.input)) {
        const std::uint32_t reader = input_.unit_of[user];
        const bool is_new = reader != maker && !std::ranges::binary_search(now, reader);
        if (is_new && reads_elements(pair.input, user)) readers_.push_back(reader);
      }
    }
    sort_unique(readers_);
    std::vector<std::int32_t>& later = made_.problem.later_readers;
    later.resize(made_.problem.value_count(), -1);
    later.push_back(static_cast<std::int32_t>(readers_.size()));
    readers_.insert(readers_.begin(), now.begin(), now.end());
  }

  void add_value(ValueId value) {
    const Value& record = graph_.value(value);
    DeviceProblem& problem = made_.problem;
    const StatePair* const state = graph_.state_of(value);
    if (state != nullptr && value == state->input) return;  // see add_later_readers()
    const bool is_input = record.kind == ValueKind::input;
    const std::uint32_t maker = is_input ? DeviceProblem::kHost : input_.unit_of[record.producer];
    readers_.clear();
    for (const NodeId user : graph_.users(value)) {
      if (input_.unit_of[user] != maker && reads_elements(value, user)) {
        readers_.push_back(input_.unit_of[user]);
      }
    }
    if (is_input && readers_.empty()) return;
    sort_unique(readers_);
    if (state != nullptr) add_later_readers(*state, maker);
    add_readers();
    const bool is_handed_on = state != nullptr && !state->is_result;
    const bool is_output = !is_input && graph_.is_graph_output(value) && !is_handed_on;
    problem.producer.push_back(maker);
    problem.host_reads.push_back(is_output ? 1 : 0);
    const bool crosses = !readers_.empty() || problem.host_reads.back() != 0;
    if (crosses && is_tied(value)) {
      problem.bytes.push_back(0);
      tie(maker);
      return;
    }
    const auto bytes = value_bytes(graph_, value);
    if (!bytes && crosses && record.is_tensor()) ++made_.unknown_sizes;
    problem.bytes.push_back(static_cast<double>(bytes.value_or(0)));
  }

  // True when the value may not be read on another device. As in the acc finder, the rule covers all
  // outputs of a node that makes any non-tensor. Between nodes that no target takes it does not matter.
  bool is_tied(ValueId value) const {
    const Value& record = graph_.value(value);
    if (!input_.ties_non_tensors || record.kind != ValueKind::node_output) return false;
    return std::ranges::any_of(graph_.outputs(record.producer),
                               [&](ValueId output) { return !graph_.value(output).is_tensor(); }) &&
           std::ranges::any_of(input_.accepted, [&](const NodeSet& accepted) {
             return accepted.contains(record.producer);
           });
  }

  // The last value's maker stays with its readers, and on the host if that reads it.
  void tie(std::uint32_t maker) {
    if (!ties_) ties_.emplace(input_.unit_count);
    for (const std::uint32_t reader : readers_) ties_->connect(maker, reader);
    if (made_.problem.host_reads.back() != 0) leave_to_host(maker);
  }

  double* costs_of(std::uint32_t unit) { return &made_.problem.unit_costs[unit * device_count()]; }

  void leave_to_host(std::uint32_t unit) {
    const std::size_t host = device_count() - 1;
    std::fill_n(costs_of(unit), host, DeviceProblem::kRefused);
    double& on_host = costs_of(unit)[host];
    if (on_host < 0) on_host = on_host_[unit];
  }

  // A device accepts all of a set or none; the host what no target does.
  void settle_ties() {
    DeviceProblem& problem = made_.problem;
    const std::size_t count = device_count();
    std::vector<std::uint8_t> refuses(input_.unit_count * count, 0);  // by first unit and device
    for (std::uint32_t unit = 0; unit < input_.unit_count; ++unit) {
      problem.stays_with.push_back(ties_->least(unit));
      for (std::size_t device = 0; device < count; ++device) {
        const bool is_refused = costs_of(unit)[device] < 0;
        if (is_refused) refuses[problem.stays_with[unit] * count + device] = 1;
      }
    }
    for (std::uint32_t unit = 0; unit < input_.unit_count; ++unit) {
      const std::uint8_t* const refused = &refuses[problem.stays_with[unit] * count];
      for (std::size_t device = 0; device < count; ++device) {
        if (refused[device] != 0) costs_of(unit)[device] = DeviceProblem::kRefused;
      }
      if (std::all_of(refused, refused + count, [](std::uint8_t is) { return is != 0; })) {
        leave_to_host(unit);
      }
    }
  }

  // What the units read of parameters; another name for one is that one.
  void add_weights() {
    DeviceProblem& problem = made_.problem;
    const std::uint32_t first =
        index(graph_.parameters().empty() ? ValueId{} : graph_.parameters()[0]);
    std::vector<std::vector<std::uint32_t>> read(input_.unit_count);
    const auto add = [&](NodeId node, ValueId parameter) {
      read[input_.unit_of[node]].push_back(index(graph_.canonical_parameter(parameter)) - first);
    };
    for (const NodeId node : graph_.nodes()) {
      for (const Operand& operand : graph_.operands(node)) {
        if (graph_.is_parameter(operand.value)) add(node, operand.value);
      }
      for (const ValueId parameter : graph_.module_parameters(node)) add(node, parameter);
    }
    add_state_bytes(read);
    for (auto& weights : read) {
      sort_unique(weights);
      for (const std::uint32_t weight : weights) problem.weights.add(weight);
      problem.weights.end_list();
    }
    for (const ValueId parameter : graph_.parameters()) {
      problem.weight_bytes.push_back(
          static_cast<double>(value_bytes(graph_, parameter).value_or(0)));
    }
    problem.weight_bytes.insert(problem.weight_bytes.end(), state_bytes_.begin(),
                                state_bytes_.end());
  }

  // State is held where it is read and where it is written: twice, unless it is written in place.
  void add_state_bytes(std::vector<std::vector<std::uint32_t>>& read) {
    auto number = static_cast<std::uint32_t>(graph_.parameters().size());
    for (const StatePair& pair : graph_.state().pairs) {
      for (const NodeId user : graph_.users(pair.input)) {
        if (reads_elements(pair.input, user)) read[input_.unit_of[user]].push_back(number);
      }
      if (is_written(graph_, pair)) {
        read[input_.unit_of[graph_.value(pair.output).producer]].push_back(number);
      }
      state_bytes_.push_back(static_cast<double>(held_state_bytes(graph_, pair)));
      ++number;
    }
  }

  const GraphProblemInput& input_;
  const Graph& graph_;
  GraphProblem made_;
  std::vector<std::uint32_t> readers_;  // of the current value
  std::vector<double> state_bytes_;     // by pair: held in memory
  std::vector<double> on_host_;         // by unit: its cost there, whether or not it is accepted
  std::optional<Pieces> ties_;          // units that stay together, if any do
};

}  // namespace

GraphProblem graph_problem(const GraphProblemInput& input) {
  return GraphProblemMaker(input).run();
}

std::vector<UnitWork> unit_work(const GraphProblemInput& input, const PerNode<NodeCost>& costs) {
  std::vector<UnitWork> work(input.unit_count);
  for (const NodeId node : input.graph.nodes()) {
    UnitWork& of_unit = work[input.unit_of[node]];
    of_unit.flops += costs[node].flops.value_or(0);
    of_unit.bytes += costs[node].bytes.value_or(0);
  }
  return work;
}

// ---- schedule ----

Adjacency needed_parts(const Adjacency& unit_readers, const Rounds& rounds) {
  Adjacency makers;  // by part: where the parts that read from it are, more than once
  for (std::uint32_t part = 0; part < rounds.count(); ++part) {
    for (const std::uint32_t unit : rounds.units.of(part)) {
      for (const std::uint32_t reader : unit_readers.of(unit)) {
        if (rounds.part_of[reader] != part) makers.add(rounds.part_of[reader]);
      }
    }
    makers.end_list();
  }
  const Adjacency needed = reversed(makers, rounds.count());
  Adjacency once;
  for (std::uint32_t part = 0; part < rounds.count(); ++part) {
    const auto parts = needed.of(part);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (i == 0 || parts[i] != parts[i - 1]) once.add(parts[i]);
    }
    once.end_list();
  }
  return once;
}

PartSchedule schedule_parts(std::span<const DeviceIndex> devices, const Adjacency& needed,
                            std::span<const double> costs) {
  constexpr auto kNone = std::numeric_limits<std::uint32_t>::max();
  PartSchedule schedule;
  std::vector<std::uint32_t> waited_for(devices.size(), kNone);
  std::vector<std::uint32_t> last_on(std::numeric_limits<DeviceIndex>::max() + 1, kNone);
  std::uint32_t last = kNone;
  for (std::uint32_t part = 0; part < devices.size(); ++part) {
    double start = 0;
    const auto wait_for = [&](std::uint32_t other) {
      if (waited_for[part] != kNone && schedule.end[other] <= start) return;
      start = schedule.end[other];
      waited_for[part] = other;
    };
    for (const std::uint32_t other : needed.of(part)) wait_for(other);
    if (last_on[devices[part]] != kNone) wait_for(last_on[devices[part]]);
    last_on[devices[part]] = part;
    schedule.start.push_back(start);
    schedule.end.push_back(start + costs[part]);
    if (last == kNone || schedule.end[part] > schedule.makespan) {
      last = part;
      schedule.makespan = schedule.end[part];
    }
  }
  for (; last != kNone; last = waited_for[last]) schedule.critical.push_back(last);
  std::ranges::reverse(schedule.critical);
  return schedule;
}

}  // namespace cleave
