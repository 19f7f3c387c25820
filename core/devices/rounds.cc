// Steps:
// 1. chains: for each unit the most parts on a path that starts there;
// 2. the rule, with the host first whenever it has work, and with the host like a target;
// 3. where neither reaches the bound, a search: layer by layer, one more part on a target in each.
#include "core/devices/rounds.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>

namespace cleave {
namespace {

// The most parts on a path from a unit on, its own included: on targets, and in all.
struct Chain {
  std::uint32_t acc = 0;
  std::uint32_t all = 0;
  auto operator<=>(const Chain&) const = default;
};

// The graph, with what all orders share.
class Problem {
 public:
  explicit Problem(const RoundsInput& input) : input_(input), waits_(input.readers.count(), 0) {
    for (const std::uint32_t reader : input.readers.items) ++waits_[reader];
    find_chains();
  }

  std::size_t unit_count() const { return waits_.size(); }
  std::size_t device_count() const { return input_.device_count; }
  std::uint64_t size() const { return waits_.size() + input_.readers.items.size(); }
  DeviceIndex host() const { return static_cast<DeviceIndex>(input_.device_count - 1); }
  DeviceIndex device(std::uint32_t unit) const { return input_.device_of[unit]; }
  std::span<const std::uint32_t> readers(std::uint32_t unit) const {
    return input_.readers.of(unit);
  }
  // By unit: reads from other units.
  const std::vector<std::uint32_t>& waits() const { return waits_; }
  const Chain& chain(std::uint32_t unit) const { return chains_[unit]; }
  const Chain& least() const { return least_; }

  // A better bound than one path: of each device the most of its parts on a path, summed. Linear in the
  // size for each device.
  Chain least_by_device() const {
    Chain sum;
    std::vector<std::uint32_t> own(unit_count());  // by unit: the device's parts from it on
    for (DeviceIndex of = 0; of <= host(); ++of) {
      std::uint32_t most = 0;
      for (auto unit = order_.rbegin(); unit != order_.rend(); ++unit) {
        const bool is_own = device(*unit) == of;
        std::uint32_t parts = is_own ? 1 : 0;
        for (const std::uint32_t reader : readers(*unit)) {
          const bool is_new = is_own && device(reader) != of;
          parts = std::max(parts, own[reader] + (is_new ? 1 : 0));
        }
        own[*unit] = parts;
        most = std::max(most, parts);
      }
      sum.all += most;
      if (of != host()) sum.acc += most;
    }
    return sum;
  }

 private:
  void find_chains() {
    std::vector<std::uint32_t> waits = waits_;
    order_.reserve(waits.size());
    for (std::uint32_t unit = 0; unit < waits.size(); ++unit) {
      if (waits[unit] == 0) order_.push_back(unit);
    }
    for (std::size_t next = 0; next < order_.size(); ++next) {
      for (const std::uint32_t reader : readers(order_[next])) {
        if (--waits[reader] == 0) order_.push_back(reader);
      }
    }
    chains_.resize(waits.size());
    for (auto unit = order_.rbegin(); unit != order_.rend(); ++unit) {
      const std::uint32_t own = device(*unit) == host() ? 0 : 1;
      Chain& chain = chains_[*unit] = {own, 1};
      for (const std::uint32_t reader : readers(*unit)) {
        const bool is_other = device(reader) != device(*unit);
        chain.acc = std::max(chain.acc, chains_[reader].acc + (is_other ? own : 0));
        chain.all = std::max(chain.all, chains_[reader].all + (is_other ? 1 : 0));
      }
      least_.acc = std::max(least_.acc, chain.acc);
      least_.all = std::max(least_.all, chain.all);
    }
  }

  const RoundsInput& input_;
  std::vector<std::uint32_t> waits_;
  std::vector<std::uint32_t> order_;  // units, after what they read from
  std::vector<Chain> chains_;
  Chain least_;  // the longest of all, each number by itself
};

struct Order {
  std::vector<DeviceIndex> devices;    // by part
  std::vector<std::uint32_t> part_of;  // by unit
  std::size_t acc_parts = 0;

  bool is_better_than(const Order& other) const {
    return std::pair(acc_parts, devices.size()) < std::pair(other.acc_parts, other.devices.size());
  }
};

// Takes rounds one by one. A chooser is given the ready units of all devices and returns the next.
class Runner {
 public:
  explicit Runner(const Problem& problem)
      : problem_(problem),
        waits_(problem.waits()),
        ready_(problem.device_count()),
        longest_(problem.device_count()) {
    order_.part_of.assign(problem.unit_count(), 0);
    for (std::uint32_t unit = 0; unit < waits_.size(); ++unit) {
      if (waits_[unit] == 0) queue(unit);
    }
  }

  // The rule: the longest chain first, of equals the earlier target.
  Order by_rule(bool is_host_first) && {
    while (left_ > 0) {
      const bool takes_host = is_host_first && !ready_.back().empty();
      take(takes_host ? problem_.host() : longest(is_host_first));
    }
    return std::move(order_);
  }

  // These devices in turn, and the rule from there.
  Order in_turn(const std::vector<DeviceIndex>& devices) && {
    for (const DeviceIndex device : devices) take(device);
    return std::move(*this).by_rule(true);
  }

 private:
  DeviceIndex longest(bool is_acc_first) const {
    const auto rank = [&](const Chain& chain) {
      return is_acc_first ? std::pair(chain.acc, chain.all) : std::pair(chain.all, chain.acc);
    };
    std::optional<DeviceIndex> best;
    for (std::size_t device = 0; device < ready_.size(); ++device) {
      if (ready_[device].empty()) continue;
      if (best && rank(longest_[device]) <= rank(longest_[*best])) continue;
      best = static_cast<DeviceIndex>(device);
    }
    return *best;
  }

  void queue(std::uint32_t unit) {
    const DeviceIndex device = problem_.device(unit);
    const Chain& chain = problem_.chain(unit);
    if (ready_[device].empty()) longest_[device] = {};
    longest_[device].acc = std::max(longest_[device].acc, chain.acc);
    longest_[device].all = std::max(longest_[device].all, chain.all);
    ready_[device].push_back(unit);
    ++left_;
  }

  void take(DeviceIndex device) {
    const auto part = static_cast<std::uint32_t>(order_.devices.size());
    order_.devices.push_back(device);
    if (device != problem_.host()) ++order_.acc_parts;
    auto& now = ready_[device];
    while (!now.empty()) {
      const std::uint32_t unit = now.back();
      now.pop_back();
      --left_;
      order_.part_of[unit] = part;
      for (const std::uint32_t reader : problem_.readers(unit)) {
        if (--waits_[reader] == 0) queue(reader);
      }
    }
  }

  const Problem& problem_;
  std::vector<std::uint32_t> waits_;
  std::vector<std::vector<std::uint32_t>> ready_;  // by device
  std::vector<Chain> longest_;                     // by device: of its ready units
  std::size_t left_ = 0;                           // ready units
  Order order_;
};

// The search. A state is a set of ready units, which says what has been taken. All states of a layer
// have as many parts on targets; the next layer has one more, after a part on the host or without.
class Beam {
 public:
  Beam(const Problem& problem, const RoundsEffort& effort)
      : problem_(problem),
        width_(effort.states),
        most_steps_(effort.steps_an_entry * problem.size()),
        waits_(problem.waits()) {}

  // The devices of the best order that was found, or, if the steps do not suffice, how it begins.
  std::vector<DeviceIndex> run() {
    State first;
    for (std::uint32_t unit = 0; unit < waits_.size(); ++unit) {
      if (waits_[unit] == 0) first.ready.push_back(unit);
    }
    std::vector<State> layer = {std::move(first)};
    while (true) {
      next_.clear();
      best_end_.reset();
      for (const State& state : layer) expand(state);
      if (best_end_) return way_to(best_end_->way);
      layer = best_of_next();
      if (steps_spent_ <= most_steps_) continue;
      saw_all_ = false;
      return way_to(layer.front().way);
    }
  }

  // True when no state was left out, so that no order is better.
  bool saw_all() const { return saw_all_; }
  std::uint64_t steps() const { return steps_spent_; }

 private:
  static constexpr auto kStart = std::uint32_t(-1);
  struct Waiting {
    std::uint32_t unit;
    std::uint32_t left;  // units that it waits for
  };
  struct State {
    std::vector<std::uint32_t> ready = {};  // ascending
    std::vector<Waiting> waiting = {};      // units for which some, but not all, makers were taken
    std::uint32_t parts = 0;
    std::uint32_t way = kStart;  // the last step that led here
  };
  struct Step {
    std::uint32_t before;
    DeviceIndex device;
  };
  // What is left of a state, the better the less: the longest chains, then how many devices
  // compete for each length of chain.
  struct Rank {
    std::uint32_t longest_acc = 0;
    std::uint32_t parts = 0;  // so far, and of the longest chain
    std::size_t rivals = 0;
    std::size_t ready = 0;
    auto operator<=>(const Rank&) const = default;
  };

  bool has_ready(const State& state, DeviceIndex device) const {
    return std::any_of(state.ready.begin(), state.ready.end(),
                       [&](std::uint32_t unit) { return problem_.device(unit) == device; });
  }

  void expand(const State& state) {
    const DeviceIndex host = problem_.host();
    if (state.ready.empty()) return offer_end(state);
    for (DeviceIndex device = 0; device < host; ++device) {
      if (has_ready(state, device)) offer(take(state, device));
    }
    if (!has_ready(state, host)) return;
    const State after_host = take(state, host);
    if (after_host.ready.empty()) return offer_end(after_host);
    for (DeviceIndex device = 0; device < host; ++device) {
      if (has_ready(after_host, device)) offer(take(after_host, device));
    }
  }

  State take(const State& state, DeviceIndex device) {
    for (const Waiting& each : state.waiting) waits_[each.unit] = each.left;
    State after{.parts = state.parts + 1, .way = static_cast<std::uint32_t>(steps_.size())};
    steps_.push_back({state.way, device});
    now_.clear();
    for (const std::uint32_t unit : state.ready) {
      (problem_.device(unit) == device ? now_ : after.ready).push_back(unit);
    }
    const std::size_t kept = after.ready.size();
    touched_.clear();
    while (!now_.empty()) {
      const std::uint32_t unit = now_.back();
      now_.pop_back();
      for (const std::uint32_t reader : problem_.readers(unit)) {
        if (waits_[reader] == problem_.waits()[reader]) touched_.push_back(reader);
        if (--waits_[reader] > 0) continue;
        (problem_.device(reader) == device ? now_ : after.ready).push_back(reader);
      }
      steps_spent_ += 1 + problem_.readers(unit).size();
    }
    const auto added = after.ready.begin() + static_cast<std::ptrdiff_t>(kept);
    std::sort(added, after.ready.end());
    std::inplace_merge(after.ready.begin(), added, after.ready.end());
    for (const Waiting& each : state.waiting) settle(each.unit, after);
    for (const std::uint32_t unit : touched_) settle(unit, after);
    steps_spent_ += state.ready.size() + state.waiting.size();
    return after;
  }

  // Notes what the unit still waits for, and leaves the table as it was.
  void settle(std::uint32_t unit, State& after) {
    if (waits_[unit] > 0) after.waiting.push_back({unit, waits_[unit]});
    waits_[unit] = problem_.waits()[unit];
  }

  void offer_end(const State& state) {
    if (!best_end_ || state.parts < best_end_->parts) best_end_ = state;
  }

  void offer(State state) {
    const auto [found, is_new] = next_.try_emplace(state.ready, std::move(state));
    if (!is_new && state.parts < found->second.parts) found->second = std::move(state);
  }

  Rank rank(const State& state) {
    Rank rank{.ready = state.ready.size()};
    std::uint32_t longest = 0;
    rivals_.clear();
    for (const std::uint32_t unit : state.ready) {
      const Chain& chain = problem_.chain(unit);
      rank.longest_acc = std::max(rank.longest_acc, chain.acc);
      longest = std::max(longest, chain.all);
      rivals_.emplace_back(chain.all, problem_.device(unit));
    }
    std::sort(rivals_.begin(), rivals_.end());
    const auto end = std::unique(rivals_.begin(), rivals_.end());
    rank.rivals = static_cast<std::size_t>(end - rivals_.begin());
    rank.parts = state.parts + longest;
    return rank;
  }

  std::vector<State> best_of_next() {
    std::vector<std::pair<Rank, State*>> ranked;
    for (auto& [ready, state] : next_) ranked.emplace_back(rank(state), &state);
    std::stable_sort(ranked.begin(), ranked.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    if (ranked.size() > width_) {
      ranked.resize(width_);
      saw_all_ = false;
    }
    std::vector<State> best;
    for (const auto& [its_rank, state] : ranked) best.push_back(std::move(*state));
    return best;
  }

  std::vector<DeviceIndex> way_to(std::uint32_t step) const {
    std::vector<DeviceIndex> devices;
    for (; step != kStart; step = steps_[step].before) devices.push_back(steps_[step].device);
    std::reverse(devices.begin(), devices.end());
    return devices;
  }

  const Problem& problem_;
  const std::size_t width_;
  const std::uint64_t most_steps_;
  std::uint64_t steps_spent_ = 0;
  std::vector<std::uint32_t> waits_;  // as in the problem, except while a round is taken
  std::vector<std::uint32_t> now_;
  std::vector<std::uint32_t> touched_;
  std::vector<std::pair<std::uint32_t, DeviceIndex>> rivals_;
  std::vector<Step> steps_;
  std::map<std::vector<std::uint32_t>, State> next_;  // by ready units
  std::optional<State> best_end_;
  bool saw_all_ = true;
};

}  // namespace

Rounds find_rounds(const RoundsInput& input, const RoundsEffort& effort) {
  const Problem problem(input);
  Order best = Runner(problem).by_rule(false);
  Order other = Runner(problem).by_rule(true);
  if (other.is_better_than(best)) best = std::move(other);
  Chain least = problem.least();
  const auto is_least = [&] {
    return best.acc_parts == least.acc && best.devices.size() == least.all;
  };
  std::uint64_t steps = 4 * problem.size();
  if (!is_least()) {
    least = problem.least_by_device();
    steps += problem.device_count() * problem.size();
  }
  bool is_fewest = is_least();
  if (!is_fewest && effort.states > 0 && problem.unit_count() <= effort.most_units) {
    Beam beam(problem, effort);
    Order found = Runner(problem).in_turn(beam.run());
    if (found.is_better_than(best)) best = std::move(found);
    is_fewest = beam.saw_all() || is_least();
    steps += beam.steps();
  }
  Rounds rounds;
  rounds.units = members_of(best.part_of, best.devices.size());
  rounds.devices = std::move(best.devices);
  rounds.part_of = std::move(best.part_of);
  rounds.acc_parts = best.acc_parts;
  rounds.least_acc_parts = least.acc;
  rounds.least_parts = least.all;
  rounds.is_fewest = is_fewest;
  rounds.steps = steps;
  return rounds;
}

}  // namespace cleave
