#include "core/devices/devices.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <utility>

#include "core/base/base.h"

namespace cleave {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::size_t kMostPermutedTargets = 4;
constexpr std::size_t kMostStarts = 3;  // of the search
constexpr std::size_t kMostKicksInVain = 400;
constexpr std::size_t kMostLeaving = 16;    // of a target, to make room
constexpr std::uint64_t kShareOfSwaps = 8;  // of the effort, one in so many
constexpr std::uint64_t kLessMemories = 8;
constexpr std::size_t kFew = 3'000;        // units: searched with less memory, too
constexpr std::size_t kMiddling = 30'000;  // units: few cuts above
constexpr int kDoublings = 8;              // of the price of a byte, by 8
constexpr int kBisections = 12;
constexpr std::array<DeviceCharges, 6> kCharges = {
    {{1, 0}, {1, 1.0 / 4}, {1, 1}, {2, 1}, {1, 1.0 / 16}, {2, 0}}};
constexpr std::array<DeviceCharges, 2> kFewCharges = {{{1, 1.0 / 4}, {2, 1}}};

// A placement with its cost and penalty.
struct Found {
  Devices devices;
  double total = kInfinity;
};

// A new total counts as less only if rounding cannot be why.
bool is_less(double total, double than) {
  return total < than - 1e-9 * (than == kInfinity ? 0 : than);
}

class Search {
 public:
  // `steps_of_swaps`: what is left of them.
  Search(const DeviceScorer& scorer, Found start, std::uint64_t last_step,
         std::uint64_t& steps_of_swaps)
      : scorer_(scorer),
        problem_(scorer.problem()),
        now_(std::move(start)),
        last_step_(last_step),
        steps_of_swaps_(steps_of_swaps) {}

  Found run() && {
    bool is_better = true;
    while (is_better && has_effort()) {
      is_better = drop_losing_parts();
      is_better = move_parts() || is_better;
      is_better = move_pieces() || is_better;
      is_better = move_targets() || is_better;
      is_better = move_borders() || is_better;
      if (!is_better) is_better = swap_for_memory();
    }
    return std::move(now_);
  }

 private:
  using Units = std::vector<std::uint32_t>;

  bool has_effort() const { return scorer_.steps() < last_step_; }

  // Moves those of the units that accept the device, and keeps that if it costs less.
  bool try_put(std::span<const std::uint32_t> units, DeviceIndex device) {
    if (!has_effort()) return false;
    before_.clear();
    for (const std::uint32_t unit : units) put(unit, device);
    return !before_.empty() && keep_if_better();
  }

  bool try_devices(std::span<const std::uint32_t> units) {
    bool is_better = false;
    for (DeviceIndex device = 0; device <= problem_.host(); ++device) {
      is_better = try_put(units, device) || is_better;
    }
    return is_better;
  }

  // Parts on targets that cost more than their units would on the host go there, all at once.
  bool drop_losing_parts() {
    const Rounds rounds = scorer_.quick_rounds(now_.devices);
    const DeviceScore score = scorer_.score(now_.devices, rounds);
    Units losing;
    for (std::uint32_t part = 0; part < rounds.count(); ++part) {
      const auto units = rounds.units.of(part);
      double on_host = 0;
      for (const std::uint32_t unit : units) {
        const bool may_go = problem_.accepts(problem_.host(), unit);
        on_host += may_go ? problem_.cost(unit, problem_.host()) : kInfinity;
      }
      if (rounds.devices[part] == problem_.host() || on_host >= score.part_costs[part]) continue;
      losing.insert(losing.end(), units.begin(), units.end());
    }
    return try_put(losing, problem_.host());
  }

  // Whole parts go to each other device.
  bool move_parts() {
    const Rounds rounds = scorer_.quick_rounds(now_.devices);
    bool is_better = false;
    for (std::uint32_t part = 0; part < rounds.count(); ++part) {
      is_better = try_devices(rounds.units.of(part)) || is_better;
    }
    return is_better;
  }

  // Pieces of a part that are connected by values.
  Adjacency find_pieces() const {
    const Rounds rounds = scorer_.quick_rounds(now_.devices);
    Units parent(problem_.unit_count());
    std::iota(parent.begin(), parent.end(), 0U);
    const auto find = [&](std::uint32_t unit) {
      while (parent[unit] != unit) unit = parent[unit] = parent[parent[unit]];
      return unit;
    };
    for (std::uint32_t unit = 0; unit < parent.size(); ++unit) {
      for (const std::uint32_t reader : scorer_.unit_readers().of(unit)) {
        if (rounds.part_of[reader] != rounds.part_of[unit]) continue;
        const std::uint32_t one = find(unit);
        const std::uint32_t other = find(reader);
        parent[std::max(one, other)] = std::min(one, other);
      }
    }
    std::vector<std::uint32_t> piece_of(parent.size());
    std::uint32_t count = 0;
    for (std::uint32_t unit = 0; unit < parent.size(); ++unit) {
      const std::uint32_t first = find(unit);
      piece_of[unit] = first == unit ? count++ : piece_of[first];
    }
    return members_of(piece_of, count);
  }

  bool move_pieces() {
    const Adjacency pieces = find_pieces();
    bool is_better = false;
    for (std::uint32_t piece = 0; piece < pieces.count(); ++piece) {
      is_better = try_devices(pieces.of(piece)) || is_better;
    }
    return is_better;
  }

  // Where memory is short, what goes to a target has to take the place of something there. Of what could
  // leave, little is tried, that first which loses least by it.
  bool swap_for_memory() {
    const std::uint64_t first = scorer_.steps();
    const std::uint64_t last = first + steps_of_swaps_;
    bool is_better = false;
    for (DeviceIndex to = 0; to < problem_.host(); ++to) {
      if (problem_.targets[to].memory) is_better = swap_into(to, last) || is_better;
    }
    steps_of_swaps_ -= std::min(steps_of_swaps_, scorer_.steps() - first);
    return is_better;
  }

  bool swap_into(DeviceIndex to, std::uint64_t last_step) {
    if (!has_effort() || scorer_.steps() >= last_step) return false;
    const Adjacency sets = movable_sets();
    std::vector<std::pair<double, std::uint32_t>> leaving;  // what it loses
    for (std::uint32_t set = 0; set < sets.count(); ++set) {
      if (now_.devices[sets.of(set).front()] != to) continue;
      double lost = 0;
      for (const std::uint32_t unit : sets.of(set)) {
        lost += cost_elsewhere(unit, to) - problem_.cost(unit, to);
      }
      if (lost < kInfinity) leaving.emplace_back(lost, set);
    }
    std::sort(leaving.begin(), leaving.end());
    if (leaving.size() > kMostLeaving) leaving.resize(kMostLeaving);
    bool is_better = false;
    for (std::uint32_t set = 0; set < sets.count() && scorer_.steps() < last_step; ++set) {
      for (const auto& [lost, other] : leaving) {
        if (try_swap(sets.of(set), to, sets.of(other))) {
          is_better = true;
          break;
        }
      }
    }
    return is_better;
  }

  double cost_elsewhere(std::uint32_t unit, DeviceIndex here) const {
    double least = kInfinity;
    for (DeviceIndex device = 0; device <= problem_.host(); ++device) {
      const bool may_go = device != here && problem_.accepts(device, unit);
      if (may_go) least = std::min(least, problem_.cost(unit, device));
    }
    return least;
  }

  // Pieces, and single units.
  Adjacency movable_sets() const {
    Adjacency sets = find_pieces();
    for (std::uint32_t unit = 0; unit < now_.devices.size(); ++unit) {
      sets.add(unit);
      sets.end_list();
    }
    return sets;
  }

  // Moves one set to the target, and the other, which is there, to some other device.
  bool try_swap(std::span<const std::uint32_t> in, DeviceIndex to,
                std::span<const std::uint32_t> out) {
    for (DeviceIndex away = 0; away <= problem_.host(); ++away) {
      if (away == to || !has_effort()) continue;
      before_.clear();
      for (const std::uint32_t unit : in) put(unit, to);
      const std::size_t moved_in = before_.size();
      if (moved_in == 0) return false;
      for (const std::uint32_t unit : out) {
        if (now_.devices[unit] == to) put(unit, away);
      }
      if (before_.size() > moved_in && keep_if_better()) return true;
      if (before_.size() == moved_in) undo();
    }
    return false;
  }

  void put(std::uint32_t unit, DeviceIndex device) {
    if (now_.devices[unit] == device || !problem_.accepts(device, unit)) return;
    before_.emplace_back(unit, now_.devices[unit]);
    now_.devices[unit] = device;
  }

  bool keep_if_better() {
    const double total = scorer_.total(now_.devices, now_.total);
    if (is_less(total, now_.total)) {
      now_.total = total;
      return true;
    }
    undo();
    return false;
  }

  void undo() {
    for (auto each = before_.rbegin(); each != before_.rend(); ++each) {
      now_.devices[each->first] = each->second;
    }
  }

  // All of a target's parts up to one, or from one on, go to each other device.
  bool move_targets() {
    const Rounds rounds = scorer_.quick_rounds(now_.devices);
    bool is_better = false;
    for (DeviceIndex device = 0; device < problem_.host(); ++device) {
      for (const bool from_front : {true, false}) {
        Units units;
        for (std::uint32_t i = 0; i < rounds.count(); ++i) {
          const auto part = from_front ? i : static_cast<std::uint32_t>(rounds.count() - 1 - i);
          if (rounds.devices[part] != device) continue;
          const auto more = rounds.units.of(part);
          units.insert(units.end(), more.begin(), more.end());
          if (units.size() > more.size()) is_better = try_devices(units) || is_better;
        }
      }
    }
    return is_better;
  }

  // Single units, and pairs of a maker and its reader, go where a neighbour of theirs is.
  bool move_borders() {
    bool is_better = false;
    for (std::uint32_t unit = 0; unit < now_.devices.size() && has_effort(); ++unit) {
      for (const std::uint32_t reader : scorer_.unit_readers().of(unit)) {
        const DeviceIndex here = now_.devices[unit];
        const DeviceIndex there = now_.devices[reader];
        if (here == there) continue;
        is_better = try_put(std::span(&unit, 1), there) || is_better;
        is_better = try_put(std::span(&reader, 1), here) || is_better;
        const std::array<std::uint32_t, 2> both = {unit, reader};
        for (DeviceIndex device = 0; device <= problem_.host(); ++device) {
          if (device != here && device != there) is_better = try_put(both, device) || is_better;
        }
      }
    }
    return is_better;
  }

  const DeviceScorer& scorer_;
  const DeviceProblem& problem_;
  Found now_;
  const std::uint64_t last_step_;
  std::uint64_t& steps_of_swaps_;
  std::vector<std::pair<std::uint32_t, DeviceIndex>> before_;
};

class Placer {
 public:
  Placer(const DeviceProblem& problem, const DeviceEffort& effort)
      : problem_(problem),
        scorer_(problem),
        last_step_(effort.steps),
        steps_of_swaps_(effort.steps / kShareOfSwaps) {}

  DevicePlacement run(const std::vector<Devices>& starts) {
    for (const Devices& start : starts) offer(start);
    offer_orders();
    offer(cheapest_devices());
    add_cuts();
    if (scorer_.has_memory()) {
      add_fitting(best_.devices);
      for (const Devices& start : starts) {
        if (penalty_of(start) > 0) move_back(start, unit_bytes());
      }
    }
    improve();
    kick_while_effort_lasts();
    return result(DeviceProof::none);
  }

  // The number of placements; `most` + 1 if there are more.
  std::uint64_t count_placements(std::uint64_t most) const {
    std::uint64_t count = 1;
    for (std::uint32_t unit = 0; unit < problem_.unit_count() && count <= most; ++unit) {
      count *= accepting(unit).size();
    }
    return std::min(count, most + 1);
  }

  DevicePlacement try_all(const std::vector<Devices>& starts) {
    for (const Devices& start : starts) offer(start);
    std::vector<std::vector<DeviceIndex>> choices;
    for (std::uint32_t unit = 0; unit < problem_.unit_count(); ++unit) {
      choices.push_back(accepting(unit));
    }
    std::vector<std::size_t> choice(choices.size(), 0);
    Devices devices;
    for (const auto& of_unit : choices) devices.push_back(of_unit.front());
    for (std::size_t unit = 0; unit <= choices.size();) {
      if (unit == 0) offer(devices);
      if (unit == choices.size()) break;
      choice[unit] = (choice[unit] + 1) % choices[unit].size();
      devices[unit] = choices[unit][choice[unit]];
      unit = choice[unit] == 0 ? unit + 1 : 0;
    }
    return result(DeviceProof::exhaustive);
  }

 private:
  std::vector<DeviceIndex> accepting(std::uint32_t unit) const {
    std::vector<DeviceIndex> found;
    for (DeviceIndex device = 0; device <= problem_.host(); ++device) {
      if (problem_.accepts(device, unit)) found.push_back(device);
    }
    return found;
  }

  void offer(Devices devices) {
    const double total = scorer_.total(devices, best_.total * (1 + 1e-9));
    take_if_better({std::move(devices), total});
  }

  // Of placements that cost the same, the one whose parts overlap more is better.
  bool take_if_better(Found found) {
    const bool is_better = is_less(found.total, best_.total);
    const bool is_equal =
        !is_better && !is_less(best_.total, found.total) && found.devices != best_.devices;
    if (!is_better && !(is_equal && makespan(found.devices) < makespan(best_.devices))) {
      return false;
    }
    best_ = std::move(found);
    return is_better;
  }

  double makespan(const Devices& devices) const {
    const Rounds rounds = scorer_.quick_rounds(devices);
    const DeviceScore score = scorer_.score(devices, rounds);
    return schedule_parts(rounds.devices, needed_parts(scorer_.unit_readers(), rounds),
                          score.part_costs)
        .makespan;
  }

  void offer_orders() {
    std::vector<DeviceIndex> order(problem_.targets.size());
    std::iota(order.begin(), order.end(), DeviceIndex{0});
    for (std::size_t used = 0; used < order.size(); ++used) {
      const auto end = order.begin() + static_cast<std::ptrdiff_t>(used);
      offer(place_in_order(problem_, {order.begin(), end}));
    }
    do {
      offer(place_in_order(problem_, order));
    } while (order.size() <= kMostPermutedTargets &&
             std::next_permutation(order.begin(), order.end()));
  }

  Devices cheapest_devices() const {
    Devices devices;
    for (std::uint32_t unit = 0; unit < problem_.unit_count(); ++unit) {
      const auto accepted = accepting(unit);
      devices.push_back(*std::min_element(
          accepted.begin(), accepted.end(), [&](DeviceIndex one, DeviceIndex other) {
            return problem_.cost(unit, one) < problem_.cost(unit, other);
          }));
    }
    return devices;
  }

  // Expansions from the best order, from where units cost least, and from all on the host. Of a large
  // problem few, from the best order only.
  void add_cuts() {
    if (problem_.unit_count() > kMiddling) {
      Devices devices = best_.devices;
      for (const DeviceCharges& charges : kFewCharges) {
        devices = expand_all(problem_, scorer_.links(), std::move(devices), charges, 1);
        offer(devices);
      }
      return;
    }
    for (Devices devices : {best_.devices, cheapest_devices(), place_in_order(problem_, {})}) {
      for (const DeviceCharges& charges : kCharges) {
        devices = expand_all(problem_, scorer_.links(), std::move(devices), charges);
        offer(devices);
        found_.push_back(devices);
      }
    }
  }

  double penalty_of(const Devices& devices) const {
    return scorer_.score(devices, scorer_.quick_rounds(devices)).penalty;
  }

  // Bytes that a unit holds: its weights and what it makes.
  std::vector<double> unit_bytes() const {
    std::vector<double> bytes(problem_.unit_count(), 0);
    for (std::uint32_t unit = 0; unit < problem_.weights.count(); ++unit) {
      for (const std::uint32_t weight : problem_.weights.of(unit)) {
        bytes[unit] += problem_.weight_bytes[weight];
      }
    }
    for (std::uint32_t value = 0; value < problem_.value_count(); ++value) {
      const std::uint32_t maker = problem_.producer[value];
      if (maker != DeviceProblem::kHost) bytes[maker] += problem_.bytes[value];
    }
    return bytes;
  }

  // Cuts with the least price of a byte, on targets with a limit, that makes them fit. Then units that
  // left a target because of it go back, those first that lost most for each byte.
  void add_fitting(const Devices& wanted) {
    if (penalty_of(wanted) <= 0) return;
    const std::vector<double> bytes = unit_bytes();
    const double all_bytes = std::accumulate(bytes.begin(), bytes.end(), 1.0);
    const double all_costs =
        std::accumulate(problem_.unit_costs.begin(), problem_.unit_costs.end(), 0.0,
                        [](double sum, double cost) { return sum + std::max(cost, 0.0); });
    double too_low = 0;
    double enough = (1 + all_costs) / all_bytes / 64;
    for (int i = 0; i < kDoublings && !offer_with_price(bytes, enough); ++i) {
      too_low = enough;
      enough *= 8;
    }
    for (int i = 0; i < kBisections; ++i) {
      const double price = (too_low + enough) / 2;
      (offer_with_price(bytes, price) ? enough : too_low) = price;
    }
    move_back(wanted, bytes);
  }

  void move_back(const Devices& wanted, const std::vector<double>& bytes) {
    std::vector<std::pair<double, std::uint32_t>> moved;  // what it lost for each byte
    for (std::uint32_t unit = 0; unit < wanted.size(); ++unit) {
      const DeviceIndex now = best_.devices[unit];
      if (wanted[unit] == now) continue;
      const double lost = problem_.cost(unit, now) - problem_.cost(unit, wanted[unit]);
      moved.emplace_back(-lost / (bytes[unit] + 1), unit);
    }
    std::sort(moved.begin(), moved.end());
    const Devices before = best_.devices;
    for (std::size_t fits = 0, too_many = moved.size() + 1; fits + 1 < too_many;) {
      const std::size_t count = (fits + too_many) / 2;
      Devices devices = before;
      for (std::size_t i = 0; i < count; ++i) devices[moved[i].second] = wanted[moved[i].second];
      (penalty_of(devices) > 0 ? too_many : fits) = count;
      offer(std::move(devices));
    }
  }

  bool offer_with_price(const std::vector<double>& bytes, double price) {
    DeviceProblem priced = problem_;
    for (std::uint32_t unit = 0; unit < bytes.size(); ++unit) {
      for (DeviceIndex device = 0; device < problem_.host(); ++device) {
        double& cost = priced.unit_costs[unit * problem_.device_count() + device];
        if (cost >= 0 && problem_.targets[device].memory) cost += price * bytes[unit];
      }
    }
    const Devices devices =
        expand_all(priced, scorer_.links(), cheapest_devices(), kCharges.front());
    offer(devices);
    const bool fits = penalty_of(devices) <= 0;
    if (fits) found_.push_back(devices);
    return fits;
  }

  // Searches from the best placements that cuts found.
  void improve() {
    std::sort(found_.begin(), found_.end());
    found_.erase(std::unique(found_.begin(), found_.end()), found_.end());
    std::vector<Found> starts = {best_};
    for (Devices& devices : found_) {
      const double total = scorer_.total(devices, kInfinity);
      starts.push_back({std::move(devices), total});
    }
    std::stable_sort(starts.begin(), starts.end(),
                     [](const Found& one, const Found& other) { return one.total < other.total; });
    if (starts.size() > kMostStarts) starts.resize(kMostStarts);
    const std::uint64_t share = (last_step_ - std::min(last_step_, scorer_.steps())) / kMostStarts;
    for (Found& start : starts) search(std::move(start), share);
  }

  bool search(Found start, std::uint64_t share) {
    Found found = Search(scorer_, std::move(start), std::min(last_step_, scorer_.steps() + share),
                         steps_of_swaps_)
                      .run();
    return take_if_better(std::move(found));
  }

  void kick_while_effort_lasts() {
    std::size_t in_vain = 0;
    const std::size_t most_in_vain = std::min(kMostKicksInVain, 30 * problem_.unit_count());
    while (in_vain < most_in_vain && scorer_.steps() + 100 * problem_.unit_count() < last_step_) {
      Devices kicked = best_.devices;
      kick(kicked);
      const double total = scorer_.total(kicked, kInfinity);
      in_vain = search({std::move(kicked), total}, last_step_) ? 0 : in_vain + 1;
    }
  }

  // Some units go to another device, whatever that costs.
  void kick(Devices& devices) {
    const auto device = static_cast<DeviceIndex>(dice_.below(problem_.device_count()));
    switch (dice_.below(3)) {
      case 0:
        return kick_neighbours(devices, device);
      case 1:
        return kick_window(devices, 6, [&] { return device; });
      default:
        return kick_window(devices, 2, [&] {
          return static_cast<DeviceIndex>(dice_.below(problem_.device_count()));
        });
    }
  }

  // Units that follow each other, all of them or a part that is down to all / 2^(halvings - 1).
  template <class Choose>
  void kick_window(Devices& devices, std::size_t halvings, Choose choose) {
    const std::size_t size = std::max<std::size_t>(devices.size() >> dice_.below(halvings), 1);
    const std::size_t first = dice_.below(devices.size() - size + 1);
    for (std::size_t unit = first; unit < first + size; ++unit) {
      const DeviceIndex device = choose();
      if (problem_.accepts(device, static_cast<std::uint32_t>(unit))) devices[unit] = device;
    }
  }

  // A unit, and some that read from it.
  void kick_neighbours(Devices& devices, DeviceIndex device) {
    const std::uint32_t first = dice_.below(devices.size());
    const std::size_t wanted = std::size_t{1} << dice_.below(6);
    std::vector<std::uint32_t> units = {first};
    for (std::size_t next = 0; next < units.size() && next < wanted; ++next) {
      if (problem_.accepts(device, units[next])) devices[units[next]] = device;
      for (const std::uint32_t reader : scorer_.unit_readers().of(units[next])) {
        units.push_back(reader);
      }
    }
  }

  DevicePlacement result(DeviceProof proof) {
    DevicePlacement placement;
    placement.rounds = scorer_.rounds(best_.devices);
    placement.score = scorer_.score(best_.devices, placement.rounds);
    placement.devices = std::move(best_.devices);
    const double total = placement.score.total;
    placement.bound = least_cost(problem_);
    placement.proof = proof;
    if (placement.score.penalty > 0) {
      placement.proof = DeviceProof::none;
    } else if (total <= placement.bound * (1 + 1e-9)) {
      placement.proof = DeviceProof::bound;
    }
    if (placement.proof != DeviceProof::none) placement.bound = total;
    return placement;
  }

  const DeviceProblem& problem_;
  DeviceScorer scorer_;
  const std::uint64_t last_step_;
  std::uint64_t steps_of_swaps_;  // left
  Found best_;
  std::vector<Devices> found_;  // by cuts
  Dice dice_;
};

}  // namespace

Devices place_in_order(const DeviceProblem& problem, const std::vector<DeviceIndex>& order) {
  Devices devices;
  const auto device_of = [&](std::uint32_t unit) {
    for (const DeviceIndex device : order) {
      if (problem.accepts(device, unit)) return device;
    }
    DeviceIndex device = problem.host();
    while (!problem.accepts(device, unit)) --device;
    return device;
  };
  for (std::uint32_t unit = 0; unit < problem.unit_count(); ++unit) {
    devices.push_back(device_of(unit));
  }
  return devices;
}

DeviceScore least_use(const DeviceProblem& problem) {
  const DeviceScorer scorer(problem);
  const Devices devices = place_in_order(problem, {});
  return scorer.score(devices, scorer.rounds(devices));
}

namespace {

DevicePlacement search_placement(const DeviceProblem& problem, const std::vector<Devices>& starts,
                                 const DeviceEffort& effort) {
  Placer placer(problem, effort);
  if (placer.count_placements(effort.most_tried) <= effort.most_tried) {
    return placer.try_all(starts);
  }
  return placer.run(starts);
}

// What fits in less memory fits in more, and a search may find what another misses. How much less does not
// depend on how much there is, so that more memory has all that less has. Of a large problem none.
std::vector<DeviceProblem> with_less_memory(const DeviceProblem& problem,
                                            const std::vector<std::uint64_t>& wanted) {
  std::vector<DeviceProblem> found;
  for (std::uint64_t share = 1; problem.unit_count() <= kFew && share < kLessMemories; ++share) {
    DeviceProblem less = problem;
    bool is_less = false;
    for (std::size_t i = 0; i < less.targets.size(); ++i) {
      auto& memory = less.targets[i].memory;
      const std::uint64_t limit = wanted[i] / kLessMemories * share;
      if (!memory || limit >= *memory) continue;
      memory = limit;
      is_less = true;
    }
    if (!is_less) break;
    found.push_back(std::move(less));
  }
  return found;
}

}  // namespace

DevicePlacement find_device_placement(const DeviceProblem& problem, const Devices& start,
                                      const DeviceEffort& effort) {
  std::vector<Devices> starts;
  if (!start.empty()) starts.push_back(start);
  DeviceProblem free = problem;
  for (DeviceTarget& target : free.targets) target.memory.reset();
  DevicePlacement wanted = search_placement(free, starts, effort);
  const bool fits =
      std::equal(problem.targets.begin(), problem.targets.end(), wanted.score.peak_bytes.begin(),
                 [](const DeviceTarget& target, std::uint64_t peak) {
                   return peak <= target.memory.value_or(peak);
                 });
  if (fits) return wanted;
  DevicePlacement placement = search_placement(problem, starts, effort);
  if (placement.proof != DeviceProof::exhaustive) {
    const auto take_if_better = [&](DevicePlacement other) {
      const auto costs = [](const DeviceScore& score) { return score.total + score.penalty; };
      if (costs(other.score) < costs(placement.score)) placement = std::move(other);
    };
    starts.push_back(wanted.devices);
    take_if_better(search_placement(problem, starts, effort));
    for (const DeviceProblem& less : with_less_memory(problem, wanted.score.peak_bytes)) {
      take_if_better(search_placement(less, starts, {effort.steps, 0}));
    }
  }
  placement.without_limits = std::move(wanted.devices);
  return placement;
}

}  // namespace cleave
