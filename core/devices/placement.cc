#include "core/devices/devices.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <utility>

#include "core/base/base.h"
#include "core/devices/search.h"

namespace cleave {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Up to 4 targets all orders are starts, which are 24; of 5 they would be 120. Not measured.
constexpr std::size_t kMostPermutedTargets = 4;
// Starts that the search goes on from, with several targets. On 36 graphs of 200 to 1,700 nodes on two
// targets neither 1 nor 6 was clearly better: the kicks find what another start would.
constexpr std::size_t kMostStarts = 3;
// For each target: kicks in a row that find nothing better end the search. On 200 random problems of one
// target, of 20 to 419 units, 50 take 40% less time, but 20 results are worse, by up to 5.6%; with 100,
// 9 are worse, by up to 0.8%.
constexpr std::size_t kMostKicksInVain = 200;
// What leaves a target to make room: every piece that could enter is tried with each of these, so that the
// number bounds a swap's cost. A guess.
constexpr std::size_t kMostLeaving = 16;
// Swaps try pairs, and could use up the effort before any kick: they have one in so many of the steps.
// An eighth was chosen, not measured.
constexpr std::uint64_t kShareOfSwaps = 8;
// Shares of the memory that a free placement would hold, for which a placement is searched, too.
// Eighths: each costs a search of its own. Chosen, not measured.
constexpr std::uint64_t kLessMemories = 8;
// Units up to which that is done: each share is a search of its own.
constexpr std::size_t kFew = 3'000;
// Each charge is a minimum cut, close to linear. So that 100,000 units take a second and a million take
// ten (tests/bench/placement_main.cc holds that), fewer are tried above these numbers of units.
constexpr std::size_t kMiddling = 30'000;
constexpr std::size_t kLarge = 300'000;
// The price of a byte that makes a placement fit: 8 steps by 8 span a factor of 16 million, and 12 halvings
// then find it to a part in 4,096. What is left over, units go back for.
constexpr int kDoublings = 8;
constexpr int kBisections = 12;
// Rounds of expansions of each device. Each makes the charged cost less, so they end by themselves; the
// limit is for costs that fall by no more than rounding.
constexpr std::size_t kMostExpansions = 100;
// The first is the charge used for the lower bound; larger ones lead to fewer and larger parts. On the 200
// problems above, the first alone makes 44 results worse, by up to 15%; the first four 19, by up to 11%; six
// of the eight 5, by up to 1.8%.
constexpr std::array<DeviceCharges, 8> kCharges = {
    {{1, 0}, {1, 1.0 / 4}, {2, 1}, {1, 1.0 / 16}, {1, 1}, {2, 0}, {4, 0}, {2, 1.0 / 8}}};

// A placement with its cost and penalty.
struct Found {
  Devices devices;
  double total = kInfinity;
};

// A new total counts as less only if rounding cannot be why.
bool is_less(double total, double than) {
  return total < than - 1e-9 * (than == kInfinity ? 0 : than);
}

// The units that stay on one device together; numbered by their first unit.
struct UnitSets {
  explicit UnitSets(const DeviceProblem& problem) : of(problem.unit_count()) {
    for (std::uint32_t unit = 0; unit < of.size(); ++unit) {
      const std::uint32_t first = problem.stays_with.empty() ? unit : problem.stays_with[unit];
      of[unit] = first == unit ? static_cast<std::uint32_t>(can_move_.size()) : of[first];
      if (first != unit) continue;
      std::size_t accepting = 0;
      for (DeviceIndex device = 0; device <= problem.host(); ++device) {
        if (problem.accepts(device, unit)) ++accepting;
      }
      can_move_.push_back(accepting > 1 ? 1 : 0);
      first_.push_back(unit);
    }
    members = members_of(of, can_move_.size());
  }

  std::size_t count() const { return can_move_.size(); }
  std::uint32_t first(std::uint32_t set) const { return first_[set]; }
  bool can_move(std::uint32_t set) const { return can_move_[set] != 0; }

  std::vector<std::uint32_t> of;  // by unit
  Adjacency members;              // by set

 private:
  std::vector<std::uint32_t> first_;    // by set
  std::vector<std::uint8_t> can_move_;  // by set: several devices accept it
};

// Steps of one round, each of which keeps a change only if the cost falls:
// 1. drop parts on targets that lose, then single ones, the least valuable first;
// 2. move connected pieces of them;
// 3. merge parts by moving what is on the host between them;
// 4. move connected pieces from the host;
// 5. move parts of a target from either end;
// 6. move single sets at the border, then makers together with their readers;
// 7. where memory is short, what goes to a target takes the place of something there.
// Rounds repeat until none helps. What moves is a set of units that stay together.
class Search {
 public:
  // `changed` scores single steps sooner than `scorer`, and `least` refuses most of them; null where they
  // do not serve the problem. `steps_of_swaps`: what is left of them.
  Search(DeviceScorer& scorer, ChangedTotal* changed, ChangedLeast* least, const UnitSets& sets,
         Devices start, std::uint64_t last_step, std::uint64_t& steps_of_swaps)
      : scorer_(scorer),
        changed_(changed),
        least_(least),
        problem_(scorer.problem()),
        sets_(sets),
        now_{std::move(start)},
        last_step_(last_step),
        steps_of_swaps_(steps_of_swaps) {
    now_.total = scorer_.cost(now_.devices, kInfinity, problem_.host());
    if (changed_ != nullptr) changed_->set(now_.devices);
    if (least_ != nullptr) least_->set(now_.devices);
  }

  Found run() && {
    bool is_better = true;
    while (is_better && has_effort()) {
      is_better = drop_losing_parts();
      is_better = drop_parts() || is_better;
      is_better = move_pieces(false) || is_better;
      is_better = merge_parts() || is_better;
      is_better = move_pieces(true) || is_better;
      is_better = move_ends() || is_better;
      is_better = move_borders() || is_better;
      is_better = move_pairs() || is_better;
      if (!is_better) is_better = swap_for_memory();
    }
    now_.total = scorer_.cost(now_.devices, kInfinity, problem_.host());
    return std::move(now_);
  }

 private:
  using Sets = std::vector<std::uint32_t>;

  bool has_effort() const { return scorer_.steps() + scorer_.size() <= last_step_; }
  DeviceIndex device_of(std::uint32_t set) const { return now_.devices[sets_.first(set)]; }
  bool accepts(DeviceIndex device, std::uint32_t set) const {
    return problem_.accepts(device, sets_.first(set));
  }

  // Moves those of the sets that accept the device, and keeps that if it costs less.
  bool try_put(std::span<const std::uint32_t> sets, DeviceIndex device) {
    if (sets.empty() || !has_effort()) return false;
    before_.clear();
    for (const std::uint32_t set : sets) put(set, device);
    return !before_.empty() && keep_if_better();
  }

  // On each device but the one where they are, in turn.
  bool try_devices(std::span<const std::uint32_t> sets, DeviceIndex here) {
    bool is_better = false;
    for (DeviceIndex device = 0; device <= problem_.host(); ++device) {
      if (device != here) is_better = try_put(sets, device) || is_better;
    }
    return is_better;
  }

  // Those of the present placement.
  void find_parts() {
    if (std::exchange(has_parts_, true)) return;
    const DeviceScorer::Parts parts = scorer_.parts(now_.devices);
    part_of_.assign(parts.of.begin(), parts.of.end());
    part_devices_.assign(parts.devices.begin(), parts.devices.end());
  }

  // For each part its sets that may move.
  std::vector<Sets> sets_by_part() {
    find_parts();
    std::vector<Sets> found(part_devices_.size());
    for (std::uint32_t set = 0; set < sets_.count(); ++set) {
      if (sets_.can_move(set)) found[part_of_[sets_.first(set)]].push_back(set);
    }
    return found;
  }

  // What each part gains, compared with its units on the host.
  std::vector<double> part_gains() {
    find_parts();
    const auto& costs = scorer_.part_costs(now_.devices, {part_of_, part_devices_});
    std::vector<double> gains(costs.size(), 0);
    for (std::uint32_t unit = 0; unit < now_.devices.size(); ++unit) {
      const bool may_go = problem_.accepts(problem_.host(), unit);
      gains[part_of_[unit]] += problem_.cost(unit, may_go ? problem_.host() : now_.devices[unit]);
    }
    for (std::size_t part = 0; part < gains.size(); ++part) gains[part] -= costs[part];
    return gains;
  }

  // Parts on targets that cost more than their units would on the host go there, all at once.
  bool drop_losing_parts() {
    const std::vector<double> gains = part_gains();
    const std::vector<Sets> parts = sets_by_part();
    Sets losing;
    for (std::size_t part = 0; part < parts.size(); ++part) {
      if (part_devices_[part] == problem_.host() || gains[part] >= 0) continue;
      losing.insert(losing.end(), parts[part].begin(), parts[part].end());
    }
    return try_put(losing, problem_.host());
  }

  // Parts on targets go to each other device, the least valuable first.
  bool drop_parts() {
    const std::vector<double> gains = part_gains();
    const std::vector<Sets> parts = sets_by_part();
    const std::vector<DeviceIndex> devices = part_devices_;
    std::vector<std::size_t> order(parts.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order,
                             [&](std::size_t a, std::size_t b) { return gains[a] < gains[b]; });
    bool is_better = false;
    for (const std::size_t part : order) {
      if (devices[part] == problem_.host()) continue;
      is_better = try_devices(parts[part], devices[part]) || is_better;
    }
    return is_better;
  }

  bool merge_parts() {
    const std::vector<Sets> between = sets_by_part();
    const std::vector<DeviceIndex> devices = part_devices_;
    bool is_better = false;
    for (std::size_t part = 0; part < between.size(); ++part) {
      if (devices[part] != problem_.host()) continue;
      is_better = try_devices(between[part], problem_.host()) || is_better;
    }
    return is_better;
  }

  // All of a target's parts up to one, or from one on, go to each other device.
  bool move_ends() {
    bool is_better = false;
    for (DeviceIndex device = 0; device < problem_.host(); ++device) {
      for (const bool from_end : {true, false}) {
        std::vector<Sets> parts = sets_by_part();
        std::vector<DeviceIndex> devices = part_devices_;
        if (from_end) std::ranges::reverse(parts);
        if (from_end) std::ranges::reverse(devices);
        Sets all;
        for (std::size_t i = 0; i < parts.size(); ++i) {
          if (devices[i] != device || parts[i].empty()) continue;
          all.insert(all.end(), parts[i].begin(), parts[i].end());
          if (!try_devices(all, device)) continue;
          is_better = true;
          all.clear();
        }
      }
    }
    return is_better;
  }

  // Sets that may move and are connected by values in one part, on the host or on targets.
  std::vector<Sets> find_pieces(bool on_host) {
    find_parts();
    std::vector<std::uint8_t> counts(sets_.count());
    for (std::uint32_t set = 0; set < counts.size(); ++set) {
      const bool is_there = (device_of(set) == problem_.host()) == on_host;
      counts[set] = is_there && sets_.can_move(set) ? 1 : 0;
    }
    Pieces pieces(sets_.count());
    for (std::uint32_t unit = 0; unit < now_.devices.size(); ++unit) {
      if (counts[sets_.of[unit]] == 0) continue;
      for (const std::uint32_t reader : scorer_.unit_readers().of(unit)) {
        if (part_of_[reader] != part_of_[unit] || counts[sets_.of[reader]] == 0) continue;
        pieces.connect(sets_.of[unit], sets_.of[reader]);
      }
    }
    return pieces.of(counts);
  }

  // Tries the most promising pieces first.
  bool move_pieces(bool on_host) {
    struct Move {
      std::size_t piece;
      DeviceIndex to;
      double gain;  // without transfers and launches
    };
    const std::vector<Sets> pieces = find_pieces(on_host);
    std::vector<Move> moves;
    for (std::size_t piece = 0; piece < pieces.size(); ++piece) {
      const DeviceIndex here = device_of(pieces[piece].front());
      for (DeviceIndex to = 0; to <= problem_.host(); ++to) {
        if (to != here) moves.push_back({piece, to, gain_of(pieces[piece], to)});
      }
    }
    std::ranges::stable_sort(moves, std::ranges::greater{}, &Move::gain);
    return std::ranges::count_if(
               moves, [&](const Move& move) { return try_put(pieces[move.piece], move.to); }) > 0;
  }

  double gain_of(const Sets& piece, DeviceIndex to) const {
    double gain = 0;
    for (const std::uint32_t set : piece) {
      if (!accepts(to, set)) continue;
      double of_set = 0;
      for (const std::uint32_t unit : sets_.members.of(set)) {
        of_set += problem_.cost(unit, now_.devices[unit]) - problem_.cost(unit, to);
      }
      gain += of_set;
    }
    return gain;
  }

  // Sets that make or read a value that crosses.
  bool move_borders() {
    std::vector<std::uint8_t> is_border(sets_.count(), 0);
    for (std::uint32_t value = 0; value < problem_.value_count(); ++value) {
      const std::uint32_t maker = problem_.producer[value];
      const bool is_input = maker == DeviceProblem::kHost;
      const DeviceIndex home = is_input ? problem_.host() : now_.devices[maker];
      bool crosses = problem_.host_reads[value] != 0 && home != problem_.host();
      for (const std::uint32_t reader : problem_.readers.of(value)) {
        crosses = crosses || now_.devices[reader] != home;
      }
      if (!crosses) continue;
      if (!is_input) is_border[sets_.of[maker]] = 1;
      for (const std::uint32_t reader : problem_.readers.of(value)) is_border[sets_.of[reader]] = 1;
    }
    bool is_better = false;
    for (std::uint32_t set = 0; set < is_border.size() && has_effort(); ++set) {
      if (is_border[set] == 0 || !sets_.can_move(set)) continue;
      is_better = try_devices(std::span(&set, 1), device_of(set)) || is_better;
    }
    return is_better;
  }

  // A maker and its reader on two devices go to a third.
  bool move_pairs() {
    if (problem_.device_count() == 2) return false;
    bool is_better = false;
    for (std::uint32_t unit = 0; unit < now_.devices.size() && has_effort(); ++unit) {
      for (const std::uint32_t reader : scorer_.unit_readers().of(unit)) {
        const DeviceIndex here = now_.devices[unit];
        const DeviceIndex there = now_.devices[reader];
        if (here == there) continue;
        const std::array<std::uint32_t, 2> both = {sets_.of[unit], sets_.of[reader]};
        for (DeviceIndex device = 0; device <= problem_.host(); ++device) {
          if (device != here && device != there) is_better = try_put(both, device) || is_better;
        }
      }
    }
    return is_better;
  }

  // Single moves stop where memory is full: nothing enters, and what leaves makes it slower. Tries only a few
  // units that could leave, beginning with the one that loses least time.
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
    const std::vector<Sets> movable = pieces_and_sets();
    std::vector<std::pair<double, std::size_t>> leaving;  // what it loses
    for (std::size_t i = 0; i < movable.size(); ++i) {
      if (device_of(movable[i].front()) != to) continue;
      double lost = 0;
      for (const std::uint32_t set : movable[i]) lost += loss_elsewhere(set, to);
      if (lost < kInfinity) leaving.emplace_back(lost, i);
    }
    std::ranges::sort(leaving);
    if (leaving.size() > kMostLeaving) leaving.resize(kMostLeaving);
    bool is_better = false;
    for (std::size_t i = 0; i < movable.size() && scorer_.steps() < last_step; ++i) {
      is_better = std::ranges::any_of(leaving,
                                      [&](const auto& other) {
                                        return try_swap(movable[i], to, movable[other.second]);
                                      }) ||
                  is_better;
    }
    return is_better;
  }

  double loss_elsewhere(std::uint32_t set, DeviceIndex here) const {
    double lost = 0;
    for (const std::uint32_t unit : sets_.members.of(set)) {
      double least = kInfinity;
      for (DeviceIndex device = 0; device <= problem_.host(); ++device) {
        const bool may_go = device != here && problem_.accepts(device, unit);
        if (may_go) least = std::min(least, problem_.cost(unit, device));
      }
      lost += least - problem_.cost(unit, here);
    }
    return lost;
  }

  std::vector<Sets> pieces_and_sets() {
    std::vector<Sets> found = find_pieces(true);
    for (Sets& piece : find_pieces(false)) found.push_back(std::move(piece));
    for (std::uint32_t set = 0; set < sets_.count(); ++set) found.push_back({set});
    return found;
  }

  // Moves some sets to the target, and others, which are there, to some other device.
  bool try_swap(const Sets& in, DeviceIndex to, const Sets& out) {
    for (DeviceIndex away = 0; away <= problem_.host(); ++away) {
      if (away == to || !has_effort()) continue;
      before_.clear();
      for (const std::uint32_t set : in) put(set, to);
      const std::size_t moved_in = before_.size();
      if (moved_in == 0) return false;
      for (const std::uint32_t set : out) {
        if (device_of(set) == to) put(set, away);
      }
      if (before_.size() > moved_in && keep_if_better()) return true;
      if (before_.size() == moved_in) undo();
    }
    return false;
  }

  void put(std::uint32_t set, DeviceIndex device) {
    if (device_of(set) == device || !accepts(device, set)) return;
    before_.emplace_back(set, device_of(set));
    move(set, device);
  }

  void move(std::uint32_t set, DeviceIndex device) {
    for (const std::uint32_t unit : sets_.members.of(set)) now_.devices[unit] = device;
  }

  bool keep_if_better() {
    const double total = changed_ == nullptr ? changed_least_or_total() : changed_total();
    const bool is_better = is_less(total, now_.total);
    if (is_better) {
      now_.total = total;
      has_parts_ = false;
      if (least_ != nullptr) least_->set(now_.devices);
    } else {
      undo();
    }
    return is_better;
  }

  double changed_least_or_total() {
    if (least_ == nullptr) return scorer_.total(now_.devices, now_.total);
    return scorer_.total(now_.devices, now_.total, [&] {
      changed_units_.clear();
      for (const auto& [set, from] : before_) {
        const auto units = sets_.members.of(set);
        changed_units_.insert(changed_units_.end(), units.begin(), units.end());
      }
      return least_->of(now_.devices, changed_units_);
    });
  }

  double changed_total() {
    double& all = scorer_.known(now_.devices).all;
    if (all >= 0 && !is_less(all, now_.total)) return all;
    for (const auto& [set, from] : before_) {
      for (const std::uint32_t unit : sets_.members.of(set)) changed_->flip(unit);
    }
    all = changed_->total();
    is_less(all, now_.total) ? changed_->keep() : changed_->undo();
    return all;
  }

  void undo() {
    for (auto each = before_.rbegin(); each != before_.rend(); ++each) {
      move(each->first, each->second);
    }
  }

  DeviceScorer& scorer_;
  ChangedTotal* const changed_;
  ChangedLeast* const least_;
  const DeviceProblem& problem_;
  const UnitSets& sets_;
  Found now_;
  const std::uint64_t last_step_;
  std::uint64_t& steps_of_swaps_;
  bool has_parts_ = false;              // the next two are of now_
  std::vector<std::uint32_t> part_of_;  // by unit
  std::vector<DeviceIndex> part_devices_;
  std::vector<std::pair<std::uint32_t, DeviceIndex>> before_;  // sets that moved, and from where
  std::vector<std::uint32_t> changed_units_;                   // of these sets
};

class Placer {
 public:
  Placer(const DeviceProblem& problem, const DeviceEffort& effort)
      : problem_(problem),
        scorer_(problem),
        cut_links_(problem, 0.5, 0.5),
        sets_(problem),
        effort_(effort),
        // 18 million for each target (DeviceEffort): it was 60, and with 18 the benchmark had the same
        // results while 100,000 units took less than a second. More targets give each unit more places
        // to try.
        most_steps_(effort.steps * problem.targets.size()),
        steps_of_swaps_(most_steps_ / kShareOfSwaps),
        first_(problem.host()) {
    if (ChangedTotal::serves(problem)) changed_.emplace(scorer_);
    if (problem.device_count() > 2) least_.emplace(scorer_);
  }

  DevicePlacement run(const std::vector<Devices>& starts) {
    std::vector<Devices> found = starts;
    const bool is_plain =
        problem_.residency == Residency::off && problem_.targets.front().duplex == Duplex::half;
    if (problem_.device_count() == 2 && !is_plain && problem_.unit_count() <= kMiddling) {
      found.push_back(plain_placement());
    }
    add_cuts(found);
    add_orders(found);
    if (has_memory(problem_)) {
      for (const Devices& devices : found) offer(devices);
      const Devices wanted = starts.empty() ? best_.devices : starts.front();
      add_fitting(wanted, found);
    }
    improve(std::move(found));
    kick_while_effort_lasts();
    if (problem_.device_count() == 2) offer_turns_of_target();
    return result(PlacementProof::none);
  }

  // The number of placements; `most` + 1 if there are more.
  std::uint64_t count_placements(std::uint64_t most) const {
    std::uint64_t count = 1;
    for (std::uint32_t set = 0; set < sets_.count() && count <= most; ++set) {
      count *= accepting(sets_.first(set)).size();
    }
    return std::min(count, most + 1);
  }

  DevicePlacement try_all() {
    std::vector<std::vector<DeviceIndex>> choices;  // by set, the host first
    Devices devices(problem_.unit_count());
    const auto put = [&](std::uint32_t set, DeviceIndex device) {
      for (const std::uint32_t unit : sets_.members.of(set)) devices[unit] = device;
    };
    for (std::uint32_t set = 0; set < sets_.count(); ++set) {
      choices.push_back(accepting(sets_.first(set)));
      std::ranges::reverse(choices[set]);
      put(set, choices[set].front());
    }
    std::vector<std::size_t> choice(choices.size(), 0);
    for (std::uint32_t set = 0; set <= choices.size();) {
      if (set == 0) offer(devices);
      if (set == 0 && problem_.device_count() == 2) offer_turns(devices, 0);
      if (set == choices.size()) break;
      choice[set] = (choice[set] + 1) % choices[set].size();
      put(set, choices[set][choice[set]]);
      set = choice[set] == 0 ? set + 1 : 0;
    }
    return result(PlacementProof::exhaustive);
  }

 private:
  std::vector<DeviceIndex> accepting(std::uint32_t unit) const {
    std::vector<DeviceIndex> found;
    for (DeviceIndex device = 0; device <= problem_.host(); ++device) {
      if (problem_.accepts(device, unit)) found.push_back(device);
    }
    return found;
  }

  void offer(const Devices& devices) { offer_turns(devices, problem_.host()); }

  // With one target, `first` begins.
  void offer_turns(const Devices& devices, DeviceIndex first) {
    const double total = scorer_.cost(devices, best_.total * (1 + 1e-9), first);
    if (take_if_better({devices, total})) first_ = first;
  }

  void offer_turns_of_target() { offer_turns(Devices(best_.devices), 0); }

  // On a tie between placements on several targets, prefers the one whose partitions overlap more.
  bool take_if_better(Found found) {
    const bool is_better = best_.devices.empty() || is_less(found.total, best_.total);
    const bool is_equal = problem_.device_count() > 2 && !is_better &&
                          !is_less(best_.total, found.total) && found.devices != best_.devices;
    if (!is_better && !(is_equal && makespan(found.devices) < makespan(best_.devices))) {
      return false;
    }
    best_ = std::move(found);
    return is_better;
  }

  double makespan(const Devices& devices) {
    const Rounds rounds = scorer_.quick_rounds(devices);
    const DeviceScore score = scorer_.score(devices, rounds);
    return schedule_parts(rounds.devices, needed_parts(scorer_.unit_readers(), rounds),
                          score.part_costs)
        .makespan;
  }

  // All on the host, and the targets in each order; of a large problem in the given one.
  void add_orders(std::vector<Devices>& found) const {
    std::vector<DeviceIndex> order(problem_.targets.size());
    std::iota(order.begin(), order.end(), DeviceIndex{0});
    for (std::size_t used = 0; used < order.size(); ++used) {
      const auto end = order.begin() + static_cast<std::ptrdiff_t>(used);
      found.push_back(place_in_order(problem_, {order.begin(), end}));
    }
    if (problem_.device_count() == 2 && problem_.unit_count() > kLarge) return;
    do {
      found.push_back(place_in_order(problem_, order));
    } while (order.size() <= kMostPermutedTargets &&
             std::next_permutation(order.begin(), order.end()));
  }

  // Without residency, or over half-duplex links, a placement costs as much or more. With a start from
  // the best one found there, neither makes the result worse: users would see a faster link in a slower plan.
  Devices plain_placement() const {
    DeviceProblem plain = problem_;
    DeviceTarget& target = plain.targets.front();
    if (plain.residency == Residency::on) {
      plain.residency = Residency::off;
    } else {
      target.duplex = Duplex::half;
    }
    return Placer(plain, effort_).run({}).devices;
  }

  Devices cheapest_devices() const {
    Devices devices;
    for (std::uint32_t unit = 0; unit < problem_.unit_count(); ++unit) {
      const auto accepted = accepting(unit);
      devices.push_back(
          *std::ranges::min_element(accepted, [&](DeviceIndex one, DeviceIndex other) {
            return problem_.cost(unit, one) < problem_.cost(unit, other);
          }));
    }
    return devices;
  }

  // With one target cuts, with several expansions from all on the host, and of a problem that is not large
  // from where units cost least, too.
  void add_cuts(std::vector<Devices>& found) const {
    const std::size_t count = problem_.unit_count() > kLarge      ? 2
                              : problem_.unit_count() > kMiddling ? 3
                                                                  : kCharges.size();
    const bool is_large = problem_.unit_count() > kMiddling;
    std::vector<Devices> from = {place_in_order(problem_, {})};
    if (problem_.device_count() > 2 && !is_large) from.push_back(cheapest_devices());
    for (const Devices& start : from) {
      for (std::size_t i = 0; i < count; ++i) {
        found.push_back(
            expand_all(problem_, cut_links_, start, kCharges[i], is_large ? 1 : kMostExpansions));
      }
    }
  }

  double penalty_of(const Devices& devices) {
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
      if (maker != DeviceProblem::kHost && !problem_.is_state(value)) {
        bytes[maker] += problem_.bytes[value];
      }
    }
    return bytes;
  }

  // Cuts with the least price of a byte, on targets with a limit, that makes them fit. Then units that
  // left a target because of it go back, those first that lost most for each byte.
  void add_fitting(const Devices& wanted, std::vector<Devices>& found) {
    if (penalty_of(wanted) <= 0) return;
    const std::vector<double> bytes = unit_bytes();
    const double all_bytes = std::accumulate(bytes.begin(), bytes.end(), 1.0);
    const double all_costs =
        std::accumulate(problem_.unit_costs.begin(), problem_.unit_costs.end(), 0.0,
                        [](double sum, double cost) { return sum + std::max(cost, 0.0); });
    double too_low = 0;
    // A 64th of the price at which all bytes cost as much as all units: hardly anything moves for
    // that, so the least price that fits is above it.
    double enough = (1 + all_costs) / all_bytes / 64;
    for (int i = 0; i < kDoublings && !offer_with_price(bytes, enough, found); ++i) {
      too_low = enough;
      enough *= 8;
    }
    for (int i = 0; i < kBisections; ++i) {
      const double price = (too_low + enough) / 2;
      (offer_with_price(bytes, price, found) ? enough : too_low) = price;
    }
    move_back(wanted, bytes);
    found.push_back(best_.devices);
  }

  void move_back(const Devices& wanted, const std::vector<double>& bytes) {
    std::vector<std::pair<double, std::uint32_t>> moved;  // what it lost for each byte
    for (std::uint32_t unit = 0; unit < wanted.size(); ++unit) {
      const DeviceIndex now = best_.devices[unit];
      if (wanted[unit] == now) continue;
      const double lost = problem_.cost(unit, now) - problem_.cost(unit, wanted[unit]);
      moved.emplace_back(-lost / (bytes[unit] + 1), unit);
    }
    std::ranges::sort(moved);
    const Devices before = best_.devices;
    for (std::size_t fits = 0, too_many = moved.size() + 1; fits + 1 < too_many;) {
      const std::size_t count = (fits + too_many) / 2;
      Devices devices = before;
      for (std::size_t i = 0; i < count; ++i) devices[moved[i].second] = wanted[moved[i].second];
      (penalty_of(devices) > 0 ? too_many : fits) = count;
      offer(std::move(devices));
    }
  }

  bool offer_with_price(const std::vector<double>& bytes, double price,
                        std::vector<Devices>& found) {
    DeviceProblem priced = problem_;
    for (std::uint32_t unit = 0; unit < bytes.size(); ++unit) {
      for (DeviceIndex device = 0; device < problem_.host(); ++device) {
        double& cost = priced.unit_costs[unit * problem_.device_count() + device];
        if (cost >= 0 && problem_.targets[device].memory) cost += price * bytes[unit];
      }
    }
    const Devices devices =
        expand_all(priced, cut_links_, cheapest_devices(), kCharges.front(), kMostExpansions);
    offer(devices);
    const bool fits = penalty_of(devices) <= 0;
    if (fits) found.push_back(devices);
    return fits;
  }

  // Searches from the starts, with several targets or little memory from the best only. Each may spend a
  // share of the effort that is left; one is for kicks.
  void improve(std::vector<Devices> starts) {
    if (problem_.device_count() > 2 || has_memory(problem_)) starts = best_of(std::move(starts));
    for (std::size_t left = starts.size(); left > 0; --left) {
      const std::uint64_t rest = most_steps_ - std::min(most_steps_, scorer_.steps());
      const std::uint64_t share = rest / (left + 1);
      search(std::move(starts[starts.size() - left]), scorer_.steps() + share);
    }
  }

  std::vector<Devices> best_of(std::vector<Devices> starts) {
    sort_unique(starts);
    std::vector<Found> scored;
    for (Devices& devices : starts) {
      const double total = scorer_.cost(devices, kInfinity, problem_.host());
      scored.push_back({std::move(devices), total});
      take_if_better(scored.back());
    }
    std::ranges::stable_sort(scored, {}, &Found::total);
    starts.clear();
    for (Found& found : scored) {
      if (starts.size() < kMostStarts) starts.push_back(std::move(found.devices));
    }
    return starts;
  }

  bool search(Devices start, std::uint64_t last_step) {
    return take_if_better(Search(scorer_, changed_ ? &*changed_ : nullptr,
                                 least_ ? &*least_ : nullptr, sets_, std::move(start),
                                 std::min(most_steps_, last_step), steps_of_swaps_)
                              .run());
  }

  void kick_while_effort_lasts() {
    std::size_t in_vain = 0;
    // A problem of a few units is exhausted sooner: 30 kicks a unit have tried each with its
    // neighbours many times. And a kick makes a placement worse first; with effort for fewer than
    // 20 visits of all units, its search would be ended before that is won back. Both were chosen,
    // not measured.
    const std::size_t most_in_vain =
        std::min(kMostKicksInVain * problem_.targets.size(), 30 * problem_.unit_count());
    while (in_vain < most_in_vain && scorer_.steps() + 20 * scorer_.size() < most_steps_) {
      Devices kicked = best_.devices;
      kick(kicked);
      in_vain = search(std::move(kicked), most_steps_) ? 0 : in_vain + 1;
    }
  }

  // Some units go to another device, whatever that costs. Neighbours undo a cut in the wrong place; a window moves
  // a whole stretch of the inference, which no single step would, since each of its units alone adds crossings;
  // and with several targets a window at random mixes what expansions have kept apart.
  void kick(Devices& devices) {
    switch (dice_.below(problem_.device_count() > 2 ? 3 : 2)) {
      case 0:
        return kick_neighbours(devices);
      case 1: {
        const DeviceIndex device = any_device();
        return kick_window(devices, 6, [&] { return device; });
      }
      default:
        return kick_window(devices, 2, [&] { return any_device(); });
    }
  }

  DeviceIndex any_device() {
    return static_cast<DeviceIndex>(problem_.host() - dice_.below(problem_.device_count()));
  }

  void put(Devices& devices, std::uint32_t unit, DeviceIndex device) const {
    if (!problem_.accepts(device, unit)) return;
    for (const std::uint32_t member : sets_.members.of(sets_.of[unit])) devices[member] = device;
  }

  // Units that follow each other: up to all / 2^(halvings - 1), or more.
  template <class Choose>
  void kick_window(Devices& devices, std::size_t halvings, Choose choose) {
    const std::size_t first = dice_.below(devices.size());
    const std::size_t most = std::max<std::size_t>(devices.size() >> dice_.below(halvings), 1);
    const std::size_t last = std::min<std::size_t>(first + 1 + dice_.below(most), devices.size());
    for (std::size_t i = first; i < last; ++i) put(devices, scorer_.order()[i], choose());
  }

  // A unit and some units that read from it, or from the same unit.
  void kick_neighbours(Devices& devices) {
    const std::uint32_t first = dice_.below(devices.size());
    const DeviceIndex device =
        problem_.device_count() > 2 ? any_device() : static_cast<DeviceIndex>(1 - devices[first]);
    // 1 to 32 units, each size as likely: cuts are in the wrong place by a node or by a block.
    const std::size_t wanted = std::size_t{1} << dice_.below(6);
    std::vector<std::uint32_t> units = {first};
    for (std::size_t next = 0; next < units.size() && next < wanted; ++next) {
      put(devices, units[next], device);
      for (const std::uint32_t reader : scorer_.unit_readers().of(units[next])) {
        units.push_back(reader);
      }
    }
  }

  DevicePlacement result(PlacementProof proof) {
    DevicePlacement placement;
    placement.rounds = scorer_.rounds(best_.devices, first_);
    placement.first = first_;
    placement.score = scorer_.score(best_.devices, placement.rounds);
    placement.devices = std::move(best_.devices);
    const double total = placement.score.total;
    placement.bound = least_cost(problem_);
    placement.proof = proof;
    if (placement.score.penalty > 0) {
      placement.proof = PlacementProof::none;
    } else if (total <= placement.bound * (1 + 1e-9)) {
      placement.proof = PlacementProof::cut;
    }
    if (placement.proof != PlacementProof::none) placement.bound = total;
    return placement;
  }

  const DeviceProblem& problem_;
  DeviceScorer scorer_;
  const LinkCosts cut_links_;  // with half of each direction of full-duplex links
  const UnitSets sets_;
  std::optional<ChangedTotal> changed_;  // where it serves
  std::optional<ChangedLeast> least_;    // with several targets
  const DeviceEffort effort_;
  const std::uint64_t most_steps_;
  std::uint64_t steps_of_swaps_;  // left
  Found best_;
  DeviceIndex first_;  // with one target, the device that begins
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
  DeviceScorer scorer(problem);
  const Devices devices = place_in_order(problem, {});
  return scorer.score(devices, scorer.rounds(devices));
}

namespace {

DevicePlacement search_placement(const DeviceProblem& problem, const std::vector<Devices>& starts,
                                 const DeviceEffort& effort) {
  Placer placer(problem, effort);
  if (placer.count_placements(effort.most_tried) <= effort.most_tried) return placer.try_all();
  return placer.run(starts);
}

// What fits in less memory fits in more, and a search may find what another misses. How much less does not
// depend on how much there is, so that more memory has all that less has: a plan for 8 GiB that is slower than
// that for 7 GiB would be a fault in users' eyes. Of a large problem none.
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

DevicePlacement find_placement(const DeviceProblem& problem, const DeviceEffort& effort,
                               const std::vector<Devices>& starts) {
  if (!has_memory(problem)) return search_placement(problem, starts, effort);
  DeviceProblem free = problem;
  for (DeviceTarget& target : free.targets) target.memory.reset();
  DevicePlacement wanted = search_placement(free, starts, effort);
  const bool fits =
      std::equal(problem.targets.begin(), problem.targets.end(), wanted.score.peak_bytes.begin(),
                 [](const DeviceTarget& target, std::uint64_t peak) {
                   return peak <= target.memory.value_or(peak);
                 });
  if (fits) return wanted;
  DevicePlacement placement = search_placement(problem, {}, effort);
  if (placement.proof != PlacementProof::exhaustive) {
    const auto take_if_better = [&](DevicePlacement other) {
      const auto costs = [](const DeviceScore& score) { return score.total + score.penalty; };
      if (costs(other.score) < costs(placement.score)) placement = std::move(other);
    };
    take_if_better(search_placement(problem, {wanted.devices}, effort));
    for (const DeviceProblem& less : with_less_memory(problem, wanted.score.peak_bytes)) {
      take_if_better(search_placement(less, {wanted.devices}, {effort.steps, 0}));
    }
  }
  placement.without_limits = std::move(wanted.devices);
  return placement;
}

DevicePlacement FoundPlacements::find(DeviceProblem problem, const PerNode<std::uint32_t>& unit_of,
                                      const DeviceEffort& effort) {
  const auto known = std::ranges::find(found_, problem, &Found::problem);
  if (known != found_.end()) return known->placement;
  if (found_.size() == kMost) found_.pop_front();
  DevicePlacement placement = find_placement(problem, effort);
  found_.push_back({std::move(problem), std::move(placement), unit_of});
  return found_.back().placement;
}

}  // namespace cleave
