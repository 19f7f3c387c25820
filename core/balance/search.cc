#include "core/balance/search.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "core/balance/linear.h"

namespace cleave::balance {

StageState::StageState(const Instance& instance, const Candidate& candidate,
                       std::vector<double> reserve)
    : instance_(instance),
      reserve_(std::move(reserve)),
      sums_(candidate.kind_of_stage.size()),
      stage_of_(candidate.stage_of),
      members_(candidate.kind_of_stage.size()),
      place_(instance.size(), 0),
      pins_in_(instance.net_count() * members_.size(), 0),
      users_in_(instance.problem->shared_bytes.size() * members_.size(), 0) {
  for (const std::uint32_t kind : candidate.kind_of_stage) {
    kinds_.push_back(&instance.fleet->kinds()[kind]);
  }
  for (std::uint32_t net = 0; net < instance.net_count(); ++net) {
    for (const std::uint32_t group : instance.pins.of(net)) ++pins_in(net, stage_of_[group]);
    for (std::uint32_t stage = 0; stage < stage_count(); ++stage) count_net(net, stage, 1);
  }
  for (std::uint32_t group = 0; group < instance.size(); ++group) add(group, stage_of_[group]);
}

StageState::Range StageState::range_of(std::uint32_t group) const {
  Range range{0, stage_count() - 1};
  for (const std::uint32_t other : instance_.predecessors.of(group)) {
    range.first = std::max(range.first, stage_of_[other]);
  }
  for (const std::uint32_t other : instance_.successors.of(group)) {
    range.last = std::min(range.last, stage_of_[other]);
  }
  return range;
}

void StageState::count_net(std::uint32_t net, std::uint32_t stage, double sign) {
  const std::uint32_t inside = pins_in(net, stage);
  if (inside == 0 || inside == instance_.pins.of(net).size()) return;
  const bool is_home = stage_of_[instance_.net_home[net]] == stage;
  (is_home ? sums_[stage].out : sums_[stage].in) += sign * instance_.net_cost[net];
}

void StageState::move(std::uint32_t group, std::uint32_t to) {
  const std::uint32_t from = stage_of_[group];
  for (const std::uint32_t net : instance_.nets_of.of(group)) {
    count_net(net, from, -1);
    count_net(net, to, -1);
  }
  remove(group);
  stage_of_[group] = to;
  add(group, to);
  for (const std::uint32_t net : instance_.nets_of.of(group)) {
    --pins_in(net, from);
    ++pins_in(net, to);
    count_net(net, from, 1);
    count_net(net, to, 1);
  }
}

void StageState::add(std::uint32_t group, std::uint32_t stage) {
  Sums& sums = sums_[stage];
  sums.time += instance_.time_on(kind(stage), group);
  sums.host_time += instance_.host_time[group];
  sums.bytes += instance_.bytes[group];
  for (const std::uint32_t shared : instance_.shared.of(group)) {
    if (users_in(shared, stage)++ == 0) sums.bytes += instance_.problem->shared_bytes[shared];
  }
  place_[group] = static_cast<std::uint32_t>(members_[stage].size());
  members_[stage].push_back(group);
}

void StageState::remove(std::uint32_t group) {
  const std::uint32_t stage = stage_of_[group];
  Sums& sums = sums_[stage];
  sums.time -= instance_.time_on(kind(stage), group);
  sums.host_time -= instance_.host_time[group];
  sums.bytes -= instance_.bytes[group];
  for (const std::uint32_t shared : instance_.shared.of(group)) {
    if (--users_in(shared, stage) == 0) sums.bytes -= instance_.problem->shared_bytes[shared];
  }
  members_[stage][place_[group]] = members_[stage].back();
  place_[members_[stage].back()] = place_[group];
  members_[stage].pop_back();
}

// Steps of one round:
// 1. anneal: move single groups, mostly to neighbouring stages;
// 2. cut the order of the result anew;
// 3. continue from the result, or from the best one, often after random moves.

namespace {

// Gives the same numbers on every machine, which the distributions of <random> do not promise.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {  // SplitMix64
    std::uint64_t z = state_ += 0x9E3779B97F4A7C15U;
    z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
    return z ^ (z >> 31U);
  }
  std::uint32_t below(std::size_t limit) {
    return static_cast<std::uint32_t>(((next() >> 32U) * limit) >> 32U);
  }
  double unit() { return static_cast<double>(next() >> 11U) * 0x1p-53; }

 private:
  std::uint64_t state_;
};

double power(double base, unsigned exponent) {
  double result = 1;
  for (; exponent != 0; exponent >>= 1U) {
    if ((exponent & 1U) != 0) result *= base;
    base *= base;
  }
  return result;
}

// A function close enough to e^-x for annealing, and the same on every machine.
double decay(double x) { return 1 / (1 + x * (1 + x * (0.5 + x * (1.0 / 6 + x / 24)))); }

class Annealing {
 public:
  Annealing(const Instance& instance, const SearchOptions& options, Random& random)
      : instance_(instance), options_(options), random_(random) {}

  struct Round {
    double scale = 1;  // of loads: the best objective so far
    unsigned exponent = 24;
    double temperature = 0.1;        // at its beginning
    std::uint64_t moves = 0;         // to try
    std::uint64_t moves_before = 0;  // tried in earlier rounds
  };
  // Returns the least greatest load met, with its stages; objective kUnlimited when none fitted.
  Candidate run(const Candidate& start, std::vector<double> reserve, const Round& round);

 private:
  double energy(const StageState& state, std::uint32_t stage, const Round& round) const {
    const double overflow = state.overflow(stage);
    const double load = state.load(stage) / round.scale + (overflow > 0 ? 1 + overflow : 0);
    return power(std::min(load, 4.0), round.exponent);
  }
  std::uint32_t pick_group(const StageState& state);
  std::uint32_t pick_stage(const StageState& state, std::uint32_t group);
  void note_if_best(const StageState& state, Candidate& best) const;

  const Instance& instance_;
  const SearchOptions& options_;
  Random& random_;
  std::vector<double> energy_;  // by stage
};

// Three times in four, a group of the stage with the greatest energy.
std::uint32_t Annealing::pick_group(const StageState& state) {
  if (random_.below(4) != 0) {
    const auto heaviest = static_cast<std::uint32_t>(
        std::max_element(energy_.begin(), energy_.end()) - energy_.begin());
    const auto members = state.members(heaviest);
    if (!members.empty()) return members[random_.below(members.size())];
  }
  return random_.below(instance_.size());
}

// Mostly a neighbouring stage, otherwise any stage that the group may be in; kNoItem: it cannot
// move.
std::uint32_t Annealing::pick_stage(const StageState& state, std::uint32_t group) {
  const StageState::Range range = state.range_of(group);
  const std::uint32_t from = state.stage_of(group);
  if (range.first >= range.last) return kNoItem;
  std::uint32_t to = range.first + random_.below(range.last - range.first + 1);
  if (random_.below(8) != 0) {
    const bool down = (random_.next() >> 63U) != 0;
    if (down ? from == range.first : from == range.last) return kNoItem;
    to = down ? from - 1 : from + 1;
  }
  const bool empties = instance_.fleet->exact_stages() && state.members(from).size() == 1;
  return to == from || empties || !state.may_enter(group, to) ? kNoItem : to;
}

void Annealing::note_if_best(const StageState& state, Candidate& best) const {
  double greatest = 0;
  for (std::uint32_t stage = 0; stage < state.stage_count(); ++stage) {
    if (state.overflow(stage) > 0) return;
    greatest = std::max(greatest, state.load(stage));
  }
  if (greatest >= best.objective * (1 - 1e-12)) return;
  best.objective = greatest;
  best.stage_of = state.stages();
}

Candidate Annealing::run(const Candidate& start, std::vector<double> reserve, const Round& round) {
  StageState state(instance_, start, std::move(reserve));
  energy_.clear();
  for (std::uint32_t stage = 0; stage < state.stage_count(); ++stage) {
    energy_.push_back(energy(state, stage, round));
  }
  Candidate best;
  best.kind_of_stage = start.kind_of_stage;
  for (std::uint64_t move = 0; move < round.moves; ++move) {
    if (move % 4096 == 0) {
      tell(options_.progress,
           {"improving stages", "moves", round.moves_before + move, options_.moves});
      if (options_.deadline != nullptr && options_.deadline->has_passed()) break;
    }
    const double done = static_cast<double>(move) / static_cast<double>(round.moves);
    const double temperature = round.temperature * (1 - done) + 1e-4;
    const std::uint32_t group = pick_group(state);
    const std::uint32_t to = pick_stage(state, group);
    if (to == kNoItem) continue;
    const std::uint32_t from = state.stage_of(group);
    state.move(group, to);
    const double energy_from = energy(state, from, round);
    const double energy_to = energy(state, to, round);
    const double change = energy_from + energy_to - energy_[from] - energy_[to];
    if (change > 0 && random_.unit() >= decay(change / temperature)) {
      state.move(group, from);
      continue;
    }
    energy_[from] = energy_from;
    energy_[to] = energy_to;
    note_if_best(state, best);
  }
  return best;
}

class LocalSearch {
 public:
  LocalSearch(const Instance& instance, const Candidate& start, const SearchOptions& options)
      : instance_(instance),
        options_(options),
        random_(options.seed),
        best_(start),
        current_(start),
        scale_(start.objective),
        base_(given_order(instance)) {
    if (!options.start_fits) best_.objective = kUnlimited;
  }

  SearchResult run() && {
    Annealing annealing(instance_, options_, random_);
    while (tried_ < options_.moves && best_.objective > options_.enough * (1 + 1e-9)) {
      if (options_.deadline != nullptr && options_.deadline->has_passed()) break;
      const Candidate padded = with_all_devices(current_);
      const Annealing::Round round = next_round();
      Candidate found = annealing.run(padded, activations_of(padded), round);
      tried_ += round.moves;
      if (found.objective < kUnlimited) {
        take(std::move(found));
      } else {
        stay();
      }
    }
    return {std::move(best_), tried_};
  }

 private:
  Annealing::Round next_round() const {
    static constexpr std::array<double, 3> kTemperatures = {0.3, 0.1, 0.02};
    static constexpr std::array<unsigned, 3> kExponents = {24, 10, 4};
    return {
        .scale = std::min(best_.objective, scale_),
        .exponent = kExponents[rounds_ % 3],
        .temperature = kTemperatures[without_gain_ % 3],
        .moves = std::min<std::uint64_t>(20'000 + 200 * instance_.size(), options_.moves - tried_),
        .moves_before = tried_};
  }

  // Cuts a round's result anew and continues from it, from the best, or from the best with random
  // moves.
  void take(Candidate found) {
    ++rounds_;
    const Order order = order_of(found, base_);
    const Candidate cut =
        cut_order(instance_, order, {.below = found.objective, .memory_scale = 1});
    if (cut.objective < found.objective) found = cut;
    if (is_better(found)) {
      best_ = found;
      base_ = order;
      current_ = std::move(found);
      without_gain_ = 0;
      return;
    }
    ++without_gain_;
    current_ = random_.below(3) == 0 ? best_ : std::move(found);
    if (random_.below(2) == 0) stir();
  }

  // No fitting assignment was met: tries again from elsewhere.
  void stay() {
    ++rounds_;
    ++without_gain_;
    if (random_.below(2) == 0) stir();
  }

  bool is_better(Candidate& found) const {
    if (!(found.objective < best_.objective * (1 - 1e-9))) return false;
    if (!instance_.has_activations) return true;
    found.objective = check(instance_, found).objective;
    return found.objective < best_.objective * (1 - 1e-9);
  }

  void stir() {
    const Order order = order_of(best_, base_);
    const auto count = static_cast<double>(order.size());
    double reach = count;
    for (std::uint32_t i = random_.below(30); i > 0; --i) reach *= 0.8;
    std::vector<double> key(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
      key[order[i]] = static_cast<double>(i) + reach * (random_.unit() - 0.5);
    }
    const Candidate cut = cut_order(instance_, order_by_key(instance_, key),
                                    {.below = best_.objective * 1.5, .memory_scale = 1});
    if (cut.objective < kUnlimited) current_ = cut;
  }

  Order order_of(const Candidate& candidate, const Order& base) const {
    std::vector<double> key(base.size());
    const auto count = static_cast<double>(base.size());
    for (std::size_t i = 0; i < base.size(); ++i) {
      key[base[i]] = count * candidate.stage_of[base[i]] + static_cast<double>(i);
    }
    return order_by_key(instance_, key);
  }

  // Adds the devices that the candidate leaves out as empty stages: at their place in the order of
  // devices, or anywhere when they have no order.
  Candidate with_all_devices(const Candidate& candidate) {
    const Fleet& fleet = *instance_.fleet;
    if (candidate.kind_of_stage.size() == fleet.device_count()) return candidate;
    Candidate padded;
    padded.objective = candidate.objective;
    const std::vector<std::uint32_t> place =
        fleet.in_order() ? places_in_order(candidate) : random_places(candidate);
    padded.kind_of_stage.assign(fleet.device_count(), kNoItem);
    for (std::size_t i = 0; i < place.size(); ++i) {
      padded.kind_of_stage[place[i]] = candidate.kind_of_stage[i];
    }
    fill_left_out(padded.kind_of_stage);
    for (const std::uint32_t stage : candidate.stage_of) padded.stage_of.push_back(place[stage]);
    return padded;
  }

  std::vector<std::uint32_t> places_in_order(const Candidate& candidate) const {
    std::vector<std::uint32_t> place;
    std::uint32_t device = 0;
    for (const std::uint32_t kind : candidate.kind_of_stage) {
      while (instance_.fleet->kind_of_device()[device] != kind) ++device;
      place.push_back(device++);
    }
    return place;
  }

  std::vector<std::uint32_t> random_places(const Candidate& candidate) {
    std::vector<std::uint32_t> place;
    const std::size_t all = instance_.fleet->device_count();
    std::size_t left = candidate.kind_of_stage.size();
    for (std::uint32_t i = 0; i < all && left > 0; ++i) {
      if (random_.below(all - i) >= left) continue;
      place.push_back(i);
      --left;
    }
    return place;
  }

  void fill_left_out(std::vector<std::uint32_t>& kind_of_stage) const {
    std::vector<std::uint32_t> count(instance_.fleet->kinds().size(), 0);
    for (const std::uint32_t kind : instance_.fleet->kind_of_device()) ++count[kind];
    for (const std::uint32_t kind : kind_of_stage) {
      if (kind != kNoItem) --count[kind];
    }
    for (std::size_t stage = 0; stage < kind_of_stage.size(); ++stage) {
      if (kind_of_stage[stage] != kNoItem) continue;
      std::uint32_t kind = 0;
      while (count[kind] == 0) ++kind;
      if (instance_.fleet->in_order()) kind = instance_.fleet->kind_of_device()[stage];
      kind_of_stage[stage] = kind;
      --count[kind];
    }
  }

  std::vector<double> activations_of(const Candidate& candidate) const {
    std::vector<double> bytes(candidate.kind_of_stage.size(), 0);
    if (!instance_.has_activations) return bytes;
    const Checked checked = check(instance_, candidate);
    // check() leaves empty stages out and keeps the order of the others.
    std::vector<std::uint8_t> is_used(bytes.size(), 0);
    for (const std::uint32_t stage : candidate.stage_of) is_used[stage] = 1;
    std::size_t next = 0;
    for (std::size_t stage = 0; stage < bytes.size(); ++stage) {
      if (is_used[stage] != 0) bytes[stage] = checked.stages[next++].activation_bytes;
    }
    return bytes;
  }

  const Instance& instance_;
  const SearchOptions& options_;
  Random random_;
  Candidate best_;
  Candidate current_;
  double scale_;  // of loads, until a fitting assignment is known
  Order base_;
  std::uint64_t tried_ = 0;
  std::uint32_t rounds_ = 0;
  std::uint32_t without_gain_ = 0;
};

}  // namespace

Deadline::Deadline(double seconds) : limited_(seconds < 1e9) {
  if (!limited_) return;
  at_ = std::chrono::steady_clock::now() +
        std::chrono::duration_cast<std::chrono::steady_clock::duration>(
            std::chrono::duration<double>(std::max(0.0, seconds)));
}

SearchResult local_search(const Instance& instance, const Candidate& start,
                          const SearchOptions& options) {
  if (instance.fleet->device_count() < 2 || instance.size() < 2) return {start, 0};
  return LocalSearch(instance, start, options).run();
}

}  // namespace cleave::balance
