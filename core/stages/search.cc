// Balancing by search: orders, moves, and a portfolio of both.

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <functional>
#include <numeric>
#include <queue>
#include <stack>
#include <string>
#include <utility>

#include "core/base/quantity.h"
#include "core/base/words.h"
#include "core/stages/solvers.h"

namespace cleave::balance {

// ---- orders ----

namespace {

std::vector<std::uint32_t> predecessor_counts(const Instance& instance) {
  std::vector<std::uint32_t> counts(instance.size());
  for (std::uint32_t group = 0; group < instance.size(); ++group) {
    counts[group] = static_cast<std::uint32_t>(instance.predecessors.of(group).size());
  }
  return counts;
}

// In the order in which `ready`, an empty queue or stack, gives groups whose predecessors are done.
Order order_by(const Instance& instance, auto ready) {
  std::vector<std::uint32_t> waits = predecessor_counts(instance);
  for (std::uint32_t group = 0; group < instance.size(); ++group) {
    if (waits[group] == 0) ready.push(group);
  }
  Order order;
  order.reserve(instance.size());
  while (!ready.empty()) {
    std::uint32_t group = 0;
    if constexpr (requires { ready.front(); }) {
      group = ready.front();
    } else {
      group = ready.top();
    }
    ready.pop();
    order.push_back(group);
    for (const std::uint32_t next : instance.successors.of(group)) {
      if (--waits[next] == 0) ready.push(next);
    }
  }
  return order;
}

// Depth-first postorder along `edges` from the groups that have none in `against`, no recursion.
Order postorder(const Adjacency& edges, const Adjacency& against) {
  Order order;
  order.reserve(edges.count());
  std::vector<std::uint8_t> seen(edges.count(), 0);
  std::vector<std::pair<std::uint32_t, std::uint32_t>> open;  // group, next edge
  const auto enter = [&](std::uint32_t group) {
    seen[group] = 1;
    open.emplace_back(group, edges.begin[group]);
  };
  for (std::uint32_t root = 0; root < edges.count(); ++root) {
    if (seen[root] != 0 || !against.of(root).empty()) continue;
    enter(root);
    while (!open.empty()) {
      auto& [group, next] = open.back();
      if (next == edges.begin[group + 1]) {
        order.push_back(group);
        open.pop_back();
        continue;
      }
      const std::uint32_t other = edges.items[next++];
      if (seen[other] == 0) enter(other);
    }
  }
  return order;
}

// Picks the ready group that leaves the least cost of half-done nets; if several are equal, the one that
// became ready last. A group's value changes when one of its nets is begun or has one pin left.
class LeastLiveCut {
 public:
  explicit LeastLiveCut(const Instance& instance)
      : instance_(instance),
        waits_(predecessor_counts(instance)),
        ready_since_(instance.size(), 0),
        version_(instance.size(), 0),
        done_(instance.size(), 0),
        pins_left_(instance.net_count()) {
    for (std::uint32_t net = 0; net < instance.net_count(); ++net) {
      pins_left_[net] = static_cast<std::uint32_t>(instance.pins.of(net).size());
    }
  }

  Order run() && {
    for (std::uint32_t group = 0; group < instance_.size(); ++group) {
      if (waits_[group] == 0) push(group);
    }
    while (!queue_.empty()) {
      const Entry entry = queue_.top();
      queue_.pop();
      if (done_[entry.group] != 0 || entry.version != version_[entry.group]) continue;
      place(entry.group);
    }
    return std::move(order_);
  }

 private:
  struct Entry {
    double change;
    std::uint32_t since;
    std::uint32_t group;
    std::uint32_t version;
    bool operator<(const Entry& other) const {  // greater is better
      if (change != other.change) return change > other.change;
      if (since != other.since) return since < other.since;
      return group > other.group;
    }
  };

  void push(std::uint32_t group) {
    double change = 0;
    for (const std::uint32_t net : instance_.nets_of.of(group)) {
      if (pins_left_[net] == instance_.pins.of(net).size()) change += instance_.net_cost[net];
      if (pins_left_[net] == 1) change -= instance_.net_cost[net];
    }
    queue_.push({change, ready_since_[group], group, ++version_[group]});
  }

  void place(std::uint32_t group) {
    done_[group] = 1;
    order_.push_back(group);
    for (const std::uint32_t next : instance_.successors.of(group)) {
      if (--waits_[next] > 0) continue;
      ready_since_[next] = static_cast<std::uint32_t>(order_.size());
      push(next);
    }
    for (const std::uint32_t net : instance_.nets_of.of(group)) {
      const auto pins = instance_.pins.of(net);
      const bool begun = pins_left_[net]-- == pins.size();
      if (!begun && pins_left_[net] != 1) continue;
      for (const std::uint32_t pin : pins) {
        if (done_[pin] == 0 && waits_[pin] == 0) push(pin);
      }
    }
  }

  const Instance& instance_;
  std::vector<std::uint32_t> waits_;
  std::vector<std::uint32_t> ready_since_;
  std::vector<std::uint32_t> version_;
  std::vector<std::uint8_t> done_;
  std::vector<std::uint32_t> pins_left_;
  std::priority_queue<Entry> queue_;
  Order order_;
};

Order longest_way_first(const Instance& instance) {
  std::vector<double> key(instance.size(), 0);
  for (std::size_t i = instance.size(); i-- > 0;) {
    const auto group = static_cast<std::uint32_t>(i);
    for (const std::uint32_t next : instance.successors.of(group)) {
      key[group] = std::min(key[group], key[next]);
    }
    key[group] -= instance.time[group];
  }
  return order_by_key(instance, key);
}

}  // namespace

Order given_order(const Instance& instance) {
  Order order(instance.size());
  std::iota(order.begin(), order.end(), 0U);
  return order;
}

Order order_by_key(const Instance& instance, std::span<const double> key) {
  const auto is_later = [key](std::uint32_t a, std::uint32_t b) {
    return std::pair(key[a], a) > std::pair(key[b], b);
  };
  using Groups = std::vector<std::uint32_t>;
  return order_by(instance,
                  std::priority_queue<std::uint32_t, Groups, decltype(is_later)>(is_later));
}

std::vector<Order> standard_orders(const Instance& instance) {
  Order from_sources = postorder(instance.successors, instance.predecessors);
  std::ranges::reverse(from_sources);
  return {given_order(instance),
          order_by(instance, std::stack<std::uint32_t>()),
          order_by(instance, std::queue<std::uint32_t>()),
          std::move(from_sources),
          postorder(instance.predecessors, instance.successors),
          LeastLiveCut(instance).run(),
          longest_way_first(instance)};
}

// ---- search ----

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

// A group that reads most of the others takes as long to move as they do together: a round ends when its
// moves have met this many edges and nets each. Groups of models have some 10.
constexpr std::uint64_t kMostStepsAMove = 64;

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
  Candidate run(const Candidate& start, std::vector<double> reserve, const Round& round) {
    StageState state(instance_, start, std::move(reserve));
    energy_.clear();
    for (std::uint32_t stage = 0; stage < state.stage_count(); ++stage) {
      energy_.push_back(energy(state, stage, round));
    }
    Candidate best;
    best.kind_of_stage = start.kind_of_stage;
    std::uint64_t steps_left = kMostStepsAMove * round.moves;
    for (std::uint64_t move = 0; move < round.moves; ++move) {
      // So rarely that asking for the time costs nothing beside the moves, and so often that a limit
      // of seconds holds.
      if (move % 4096 == 0) {
        tell(options_.progress,
             {"improving stages", "moves", round.moves_before + move, options_.moves});
        if (options_.deadline != nullptr && options_.deadline->has_passed()) break;
      }
      const double done = static_cast<double>(move) / static_cast<double>(round.moves);
      // Not down to 0, since the temperature divides.
      const double temperature = round.temperature * (1 - done) + 1e-4;
      const std::uint32_t group = pick_group(state);
      const std::size_t steps = instance_.nets_of.of(group).size() +
                                instance_.predecessors.of(group).size() +
                                instance_.successors.of(group).size();
      if (steps > steps_left) break;
      steps_left -= steps;
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

 private:
  double energy(const StageState& state, std::uint32_t stage, const Round& round) const {
    const double overflow = state.overflow(stage);
    const double load = state.load(stage) / round.scale + (overflow > 0 ? 1 + overflow : 0);
    // The 24th power of 4 is 2.8e14: beside it a double still sees the stages of ordinary load,
    // whose powers are about 1. Without the cap one misfit would hide all others.
    return power(std::min(load, 4.0), round.exponent);
  }

  // Three times in four, a group of the stage with the greatest energy.
  std::uint32_t pick_group(const StageState& state) {
    // The objective is the heaviest stage, so most moves that can help begin there. The fourth goes
    // anywhere: a light stage may have to make room first. Both shares were chosen, not measured.
    if (random_.below(4) != 0) {
      const auto heaviest =
          static_cast<std::uint32_t>(std::ranges::max_element(energy_) - energy_.begin());
      const auto members = state.members(heaviest);
      if (!members.empty()) return members[random_.below(members.size())];
    }
    return random_.below(instance_.size());
  }

  // Mostly a neighbouring stage, otherwise any stage that the group may be in; kNoItem: it cannot
  // move.
  std::uint32_t pick_stage(const StageState& state, std::uint32_t group) {
    const StageState::Range range = state.range_of(group);
    const std::uint32_t from = state.stage_of(group);
    if (range.first >= range.last) return kNoItem;
    std::uint32_t to = range.first + random_.below(range.last - range.first + 1);
    // A move to a neighbour changes what crosses one border only; a jump is what takes a group past a
    // stage that is full.
    if (random_.below(8) != 0) {
      const bool down = (random_.next() >> 63U) != 0;
      if (down ? from == range.first : from == range.last) return kNoItem;
      to = down ? from - 1 : from + 1;
    }
    const bool empties = instance_.fleet->exact_stages() && state.members(from).size() == 1;
    return to == from || empties || !state.may_enter(group, to) ? kNoItem : to;
  }

  void note_if_best(const StageState& state, Candidate& best) const {
    double greatest = 0;
    for (std::uint32_t stage = 0; stage < state.stage_count(); ++stage) {
      if (state.overflow(stage) > 0) return;
      greatest = std::max(greatest, state.load(stage));
    }
    // Sums that groups were added to and taken from again differ in their last digits: without the
    // margin the same stages would be noted as better over and over.
    if (greatest >= best.objective * (1 - 1e-12)) return;
    best.objective = greatest;
    best.stage_of = state.stages();
  }

  const Instance& instance_;
  const SearchOptions& options_;
  Random& random_;
  std::vector<double> energy_;  // by stage
};

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
    // Temperatures are in units of the energy of a stage at the best load. Each round in vain is
    // colder than the one before; after three it is hot again, as it is after a gain. The exponents
    // take turns whatever comes: 24 is nearly the greatest load, and under 4 groups pass through
    // full stages. Chosen, not measured one by one.
    static constexpr std::array<double, 3> kTemperatures = {0.3, 0.1, 0.02};
    static constexpr std::array<unsigned, 3> kExponents = {24, 10, 4};
    return {
        .scale = std::min(best_.objective, scale_),
        .exponent = kExponents[rounds_ % 3],
        .temperature = kTemperatures[without_gain_ % 3],
        // Some 200 tries for each group; small problems get more, as a round costs them nothing.
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
    // Two times in three from the result, though it is worse: always from the best, the search
    // would stay around it.
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
    // A gain in the tenth digit is rounding, and would start the temperatures anew.
    if (!(found.objective < best_.objective * (1 - 1e-9))) return false;
    if (!instance_.has_activations) return true;
    found.objective = check(instance_, found).objective;
    return found.objective < best_.objective * (1 - 1e-9);
  }

  void stir() {
    const Order order = order_of(best_, base_);
    const auto count = static_cast<double>(order.size());
    double reach = count;
    // From the whole order down to 0.15% of it (0.8 to the power of 29), each size as likely: at
    // first large disturbances help, near the optimum only small ones, and nobody knows which of
    // the two holds now.
    for (std::uint32_t i = random_.below(30); i > 0; --i) reach *= 0.8;
    std::vector<double> key(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
      key[order[i]] = static_cast<double>(i) + reach * (random_.unit() - 0.5);
    }
    // A start may be half as heavy again as the best; the limit is there to keep the cut quick.
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

// 31 years: far beyond, the clock's count of nanoseconds would overflow.
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

// ---- portfolio ----

// find_obstacle() reports the first of these tests that fails:
// 1. each group may run on some device, of those in order on one that comes late enough;
// 2. there are as many groups as stages asked for;
// 3. each group fits into the largest memory;
// 4. all parameters fit into the memory of all devices.

namespace {

std::string item_name(const BalanceProblem& problem, std::uint32_t item) {
  return problem.item_name ? "\"" + problem.item_name(item) + "\"" : "item " + std::to_string(item);
}

// Names a group by its first item: `"conv1"`, `"conv1" with 3 nodes tied to it`.
std::string group_text(const Instance& instance, std::uint32_t group) {
  const auto items = instance.items_of.of(group);
  std::string text = item_name(*instance.problem, items.front());
  if (items.size() > 1) text += " with " + counted(items.size() - 1, "node") + " tied to it";
  return text;
}

double most_memory(const Instance& instance) {
  double most = 0;
  for (const DeviceKind& kind : instance.fleet->kinds()) most = std::max(most, kind.memory);
  return most;
}

std::optional<Error> find_homeless_group(const Instance& instance) {
  if (instance.fleet->has_host()) return std::nullopt;
  for (std::uint32_t group = 0; group < instance.size(); ++group) {
    if (instance.host_only[group] == 0) continue;
    return Error{group_text(instance, group) +
                 " cannot run on an accelerator, and there is no host"};
  }
  return std::nullopt;
}

// The fault of a group that no device takes after the devices that take what comes before it. Only devices
// in order, of several targets, can have one.
std::optional<Error> find_group_out_of_order(const Instance& instance) {
  if (instance.targets == 0 || !instance.fleet->in_order()) return std::nullopt;
  const std::vector<std::uint32_t> earliest = earliest_devices(instance);
  for (std::uint32_t group = 0; group < instance.size(); ++group) {
    if (earliest[group] != kNoItem) continue;
    return Error{
        "no device takes " + group_text(instance, group) +
            " after those that take what comes before it",
        std::nullopt,
        {"stages are on the devices in their order: list one more that takes it at the end"}};
  }
  return std::nullopt;
}

// Bytes that any stage with the group needs: while its items run, all they read and make is live.
double needed_bytes(const Instance& instance, std::uint32_t group, StageMemory& memory) {
  double bytes = instance.bytes[group];
  for (const std::uint32_t shared : instance.shared.of(group)) {
    bytes += instance.problem->shared_bytes[shared];
  }
  if (instance.has_activations && instance.items_of.of(group).size() == 1) {
    bytes += memory.activation_bytes(std::span(&group, 1));
  }
  return bytes;
}

std::optional<Error> find_too_large_group(const Instance& instance) {
  const double most = most_memory(instance);
  StageMemory memory(instance);
  for (std::uint32_t group = 0; group < instance.size(); ++group) {
    const double bytes = needed_bytes(instance, group, memory);
    if (bytes <= most) continue;
    return Error{group_text(instance, group) + " needs " + byte_amount(bytes) + ", " +
                 byte_amount(bytes - most) + " more than a device has (" + byte_amount(most) + ")"};
  }
  return std::nullopt;
}

double all_parameter_bytes(const Instance& instance) {
  double bytes = 0;
  for (const double own : instance.bytes) bytes += own;
  for (std::size_t i = 0; i < instance.problem->shared_bytes.size(); ++i) {
    const bool is_used = !instance.problem->shared_users.of(static_cast<std::uint32_t>(i)).empty();
    if (is_used) bytes += instance.problem->shared_bytes[i];
  }
  return bytes;
}

std::optional<Error> find_too_little_memory(const Instance& instance) {
  const Fleet& fleet = *instance.fleet;
  double room = 0;
  for (const std::uint32_t kind : fleet.kind_of_device()) room += fleet.kinds()[kind].memory;
  const double bytes = all_parameter_bytes(instance);
  if (bytes <= room) return std::nullopt;
  Error error{"the parameters need " + byte_amount(bytes) + ", " + byte_amount(bytes - room) +
              " more than " + counted(fleet.device_count(), "device") +
              (fleet.device_count() == 1 ? " has (" : " have (") + byte_amount(room) + ")"};
  if (fleet.is_uniform()) {
    const double least = std::ceil(bytes / fleet.kinds().front().memory);
    error.notes.push_back("at least " + number_text(least) + " devices are needed");
  }
  return error;
}

}  // namespace

std::string number_text(double number) {
  const bool is_whole = std::abs(number) < 1e15 && number == std::floor(number);
  return is_whole ? fixed_text(number, 0) : rounded_text(number, 6);
}

std::string time_text(const BalanceProblem& problem, double time) {
  return number_text(time) + (problem.unit.empty() ? "" : " " + problem.unit);
}

Error too_few_to_stand_apart(std::uint32_t stages, std::size_t apart) {
  return Error{"exactly " + counted(stages, "stage") + " asked for, but the graph has " +
               counted(apart, "node") + " that can be in different stages"};
}

std::optional<Error> find_obstacle(const Instance& instance) {
  const Fleet& fleet = *instance.fleet;
  if (auto error = find_homeless_group(instance)) return error;
  if (auto error = find_group_out_of_order(instance)) return error;
  if (fleet.exact_stages() && instance.size() < fleet.device_count()) {
    return too_few_to_stand_apart(fleet.device_count(), instance.size());
  }
  if (!fleet.has_caps() || most_memory(instance) == kUnlimited) return std::nullopt;
  if (auto error = find_too_large_group(instance)) return error;
  return find_too_little_memory(instance);
}

Error no_room(const Instance& instance, bool is_proved, double excess_bytes) {
  Error error{"no assignment to " + counted(instance.fleet->device_count(), "device") +
              (is_proved ? " " : " was found that ") +
              (instance.fleet->has_caps() ? "fits their memory" : "holds what each takes")};
  if (excess_bytes > 0) {
    error.message +=
        "; the nearest one found lacks " + byte_amount(excess_bytes) + " on one of them";
  }
  return error;
}

// Steps of the portfolio:
// 1. cut the standard orders;
// 2. if no cut fits memory, look for a fitting assignment;
// 3. raise the lower bound by minimum cuts;
// 4. search exactly with a small budget, then locally, then exactly with a larger budget; stop as
//    soon as the best answer reaches the bound;
// 5. draw the curve of the best load by number of stages.

namespace {

// Groups up to which each step is worth its time. An order costs a dynamic program over all groups; a move of
// the local search is cheap, but a large graph needs more of them than the budget has; and the ideals of
// the exact search grow so fast that above a few thousand groups it would end at its limit. Where exactly the
// lines should be was not measured.
constexpr std::size_t kMostForAllOrders = 200'000;
constexpr std::size_t kMostForLocalSearch = 20'000;
constexpr std::size_t kMostForExactSearch = 5'000;
constexpr double kTight = 2e-9;  // bounds are rounded down by 1e-9

}  // namespace

// Effort is counted in moves, steps and ideals, not in seconds, so that the same input gives the same stages on
// every machine. The first exact search is small whatever the effort: where a graph has few ideals it proves
// the optimum before the local search has begun.
Budget budget_for(Effort effort, std::size_t groups) {
  // Chosen together, not tuned one by one. tests/bench/balance_main.cc holds what they give: the
  // optimum of published settings to 1e-5 within a second and 200 MB, the other known optima to
  // 1.001 at worst, and a million nodes in 2.5 s.
  const std::uint64_t scale = effort == Effort::low ? 1 : effort == Effort::normal ? 4 : 40;
  Budget budget{.moves = scale * std::min<std::uint64_t>(100'000 + 200 * groups, 500'000),
                .flow_steps = scale * 10'000'000,
                .first_stages = 1'000'000,
                .last_stages = scale * 2'500'000,
                .ideals = scale * 50'000,
                .orders = 7};
  if (groups > kMostForLocalSearch) budget.moves = 0;
  if (groups > kMostForExactSearch) budget.ideals = 0;
  if (groups > kMostForAllOrders) budget.orders = 1;
  return budget;
}

Portfolio::Portfolio(const Instance& instance, const BalanceOptions& options,
                     const Deadline& deadline)
    : instance_(instance),
      options_(options),
      deadline_(deadline),
      budget_(budget_for(options.effort, instance.size())) {}

PortfolioAnswer Portfolio::run() {
  answer_.bound = simple_bound(instance_);
  cut_orders();
  if (best_.objective == kUnlimited) make_room();
  if (best_.objective == kUnlimited) return std::move(answer_);
  raise_bound();
  if (!is_done()) search_exactly(budget_.first_stages);
  if (!is_done()) search_locally();
  if (!is_done()) search_exactly(budget_.last_stages);
  draw_curve();
  return std::move(answer_);
}

bool Portfolio::is_done() const {
  return best_.objective <= answer_.bound.objective * (1 + kTight) || deadline_.has_passed();
}

bool Portfolio::offer(Candidate candidate) {
  if (!(candidate.objective < best_.objective)) return false;
  Checked checked = check(instance_, candidate);
  if (checked.objective == kUnlimited) {
    const bool is_nearest =
        misfit_.objective == kUnlimited || checked.excess_bytes < answer_.least_excess_bytes;
    if (is_nearest) {
      answer_.least_excess_bytes = checked.excess_bytes;
      misfit_ = std::move(candidate);
    }
    return false;
  }
  if (!(checked.objective < best_.objective)) return false;
  candidate.objective = checked.objective;
  best_ = std::move(candidate);
  answer_.best = std::move(checked);
  return true;
}

namespace {

Order order_by_device(const Instance& instance, const std::vector<std::uint32_t>& device) {
  return order_by_key(instance, std::vector<double>(device.begin(), device.end()));
}

}  // namespace

void Portfolio::cut_orders() {
  if (budget_.orders == 1) {
    orders_.push_back(given_order(instance_));
  } else {
    orders_ = standard_orders(instance_);
  }
  if (instance_.targets > 0) {
    orders_.push_back(order_by_device(instance_, earliest_devices(instance_)));
    orders_.push_back(order_by_device(instance_, latest_devices(instance_)));
  }
  best_order_ = orders_.front();
  for (const Order& order : orders_) {
    if (&order != &orders_.front() && is_done()) break;
    cut(order);
  }
}

// Cutting an order counts memory as if groups ran in that order. If the true peak is higher, cuts
// again as if devices had less memory.
void Portfolio::cut(const Order& order) {
  double scale = 1;
  // Four tries, down to 80% of the memory (0.93 to the power of 3). An order whose true peak is
  // further off is given up: another order comes next, and make_room() at the end.
  for (int attempt = 0; attempt < 4; ++attempt) {
    const Candidate found =
        cut_order(instance_, order, {.below = best_.objective, .memory_scale = scale});
    if (found.objective == kUnlimited) return;
    if (offer(found)) best_order_ = order;
    if (!instance_.has_activations || check(instance_, found).excess_bytes <= 0) return;
    scale *= 0.93;
  }
}

// No cut of an order fits: searches exactly while that is small, else starts from the candidate
// nearest to fitting.
void Portfolio::make_room() {
  if (budget_.ideals > 0) {
    ExactResult exact = exact_search(instance_, {.below = kUnlimited,
                                                 .most_ideals = budget_.ideals,
                                                 .most_stages = budget_.last_stages,
                                                 .deadline = &deadline_,
                                                 .progress = &options_.progress});
    answer_.is_proved_impossible = exact.is_complete && exact.best.objective == kUnlimited;
    if (offer(std::move(exact.best))) {
      if (exact.is_complete) answer_.bound = {best_.objective, "ideals"};
      return;
    }
  }
  // As if devices had more memory, a tenth more each time, until an order can be cut: the local
  // search then begins where little is lacking. At a million times the memory it is not memory that
  // is in the way.
  for (double scale = 1.05; misfit_.objective == kUnlimited && scale < 1e6; scale *= 1.1) {
    for (const Order& order : orders_) {
      if (deadline_.has_passed()) return;
      offer(cut_order(instance_, order, {.below = kUnlimited, .memory_scale = scale}));
    }
  }
  if (answer_.is_proved_impossible || misfit_.objective == kUnlimited || budget_.moves == 0) return;
  SearchResult found = local_search(instance_, misfit_,
                                    {.moves = budget_.moves,
                                     .seed = options_.seed,
                                     .start_fits = false,
                                     .enough = answer_.bound.objective,
                                     .deadline = &deadline_,
                                     .progress = &options_.progress});
  answer_.moves += found.moves;
  offer(std::move(found.best));
}

void Portfolio::raise_bound() {
  if (is_done()) return;
  Bound bound = flow_bound(instance_, {.reached = best_.objective,
                                       .flow_steps = budget_.flow_steps,
                                       .deadline = &deadline_,
                                       .progress = &options_.progress});
  if (bound.objective > answer_.bound.objective) answer_.bound = std::move(bound);
}

void Portfolio::search_exactly(std::uint64_t most_stages) {
  if (budget_.ideals == 0) return;
  // Only for what is better by more than rounding: a search that ends without it proves the present
  // answer best.
  ExactResult exact = exact_search(instance_, {.below = best_.objective * (1 - 1e-9),
                                               .most_ideals = budget_.ideals,
                                               .most_stages = most_stages,
                                               .deadline = &deadline_,
                                               .progress = &options_.progress});
  if (!exact.is_complete) return;
  if (exact.best.objective < kUnlimited) offer(std::move(exact.best));
  answer_.bound = {best_.objective, "ideals"};
}

void Portfolio::search_locally() {
  if (budget_.moves == 0) return;
  SearchResult found = local_search(instance_, best_,
                                    {.moves = budget_.moves,
                                     .seed = options_.seed,
                                     .enough = answer_.bound.objective,
                                     .deadline = &deadline_,
                                     .progress = &options_.progress});
  answer_.moves += found.moves;
  offer(std::move(found.best));
}

void Portfolio::draw_curve() {
  answer_.curve = rough_curve(instance_, best_order_);
  for (const Order& order : orders_) {
    if (orders_.size() == 1 || instance_.size() > kMostForExactSearch) break;
    const std::vector<double> other = rough_curve(instance_, order);
    for (std::size_t i = 0; i < other.size(); ++i) {
      answer_.curve[i] = std::min(answer_.curve[i], other[i]);
    }
  }
  if (options_.exact_stages) {
    answer_.curve.back() = best_.objective;
    return;
  }
  for (double& objective : answer_.curve) objective = std::max(objective, best_.objective);
  const std::size_t used = answer_.best.stages.size();
  const std::size_t first = instance_.fleet->in_order() ? answer_.curve.size() : used;
  for (std::size_t i = first; i <= answer_.curve.size(); ++i) {
    answer_.curve[i - 1] = best_.objective;
  }
}

}  // namespace cleave::balance
