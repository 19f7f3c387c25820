#include "core/balance/exact.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/balance/capacity.h"

namespace cleave::balance {

Ideals::Ideals(const Instance& instance)
    : instance_(instance), words_(instance.size() / 64 + 1), table_(1024, kNoItem) {
  std::uint64_t code = 0x243F6A8885A308D3U;
  for (std::size_t group = 0; group < instance.size(); ++group) {
    code = (code ^ (code >> 29U)) * 0xBF58476D1CE4E5B9U + 0x9E3779B97F4A7C15U;
    code_.push_back(code ^ (code >> 31U));
  }
  made_.assign(words_, 0);
  find_or_add(0);
}

std::optional<Ideals> Ideals::enumerate(const Instance& instance, std::size_t most) {
  Ideals ideals(instance);
  for (std::uint32_t ideal = 0; ideal < ideals.hash_.size(); ++ideal) {
    if (!ideals.expand(ideal, most)) return std::nullopt;
  }
  ideals.sets_ = {};
  ideals.table_ = {};
  ideals.hash_ = {};
  return ideals;
}

// Ideals are found in order of size, so every ideal that leads to one comes before it.
bool Ideals::expand(std::uint32_t ideal, std::size_t most) {
  find_ready(ideal);
  for (const std::uint32_t group : ready_) {
    const auto first = sets_.begin() + static_cast<std::ptrdiff_t>(ideal * words_);
    std::copy(first, first + static_cast<std::ptrdiff_t>(words_), made_.begin());
    made_[group / 64] |= std::uint64_t{1} << (group % 64);
    next_.push_back({group, find_or_add(hash_[ideal] + code_[group])});
    if (hash_.size() > most) return false;
  }
  next_begin_.push_back(next_.size());
  return true;
}

// A group is ready when it is outside and all its predecessors are inside. Searches word by word:
// groups ascend along edges, so except in wide graphs no ready group is far beyond the first one
// outside.
void Ideals::find_ready(std::uint32_t ideal) {
  ready_.clear();
  const std::span<const std::uint64_t> set(&sets_[ideal * words_], words_);
  for (std::uint32_t group = 0; group < instance_.size(); ++group) {
    if (group % 64 == 0 && set[group / 64] == ~std::uint64_t{0}) {
      group += 63;
      continue;
    }
    if (holds(set, group)) continue;
    const auto before = instance_.predecessors.of(group);
    const bool is_ready = std::all_of(before.begin(), before.end(),
                                      [&](std::uint32_t other) { return holds(set, other); });
    if (is_ready) ready_.push_back(group);
  }
}

std::uint32_t Ideals::find_or_add(std::uint64_t hash) {
  if (hash_.size() * 2 >= table_.size()) grow_table();
  std::size_t slot = hash & (table_.size() - 1);
  while (table_[slot] != kNoItem) {
    const std::uint32_t ideal = table_[slot];
    const auto first = sets_.begin() + static_cast<std::ptrdiff_t>(ideal * words_);
    if (hash_[ideal] == hash && std::equal(made_.begin(), made_.end(), first)) return ideal;
    slot = (slot + 1) & (table_.size() - 1);
  }
  const auto ideal = static_cast<std::uint32_t>(hash_.size());
  table_[slot] = ideal;
  hash_.push_back(hash);
  sets_.insert(sets_.end(), made_.begin(), made_.end());
  return ideal;
}

void Ideals::grow_table() {
  table_.assign(table_.size() * 2, kNoItem);
  for (std::uint32_t ideal = 0; ideal < hash_.size(); ++ideal) {
    std::size_t slot = hash_[ideal] & (table_.size() - 1);
    while (table_[slot] != kNoItem) slot = (slot + 1) & (table_.size() - 1);
    table_[slot] = ideal;
  }
}

// The dynamic program over ideals. For each ideal, in order:
// 1. pass over devices that may stay unused;
// 2. list the states that can still lead to a better assignment;
// 3. grow a stage above the ideal, group by group and depth first, price it for each kind of
//    device, and record each improvement.

namespace {

constexpr std::size_t kMostCells = 4'000'000;  // of the table: 100 MB

// A stage that grows and shrinks at its end, group by group.
class GrowingStage {
 public:
  explicit GrowingStage(const Instance& instance)
      : target_time(instance.targets, 0),
        refused(instance.targets, 0),
        instance_(instance),
        pins_in_(instance.net_count(), 0),
        home_in_(instance.net_count(), 0),
        users_in_(instance.problem->shared_bytes.size(), 0) {}

  void clear() {
    while (!groups_.empty()) pop();
    time = host_time = in = out = bytes = 0;  // clears rounding errors
    std::fill(target_time.begin(), target_time.end(), 0);
  }

  void push(std::uint32_t group) {
    groups_.push_back(group);
    time += instance_.time[group];
    host_time += instance_.host_time[group];
    bytes += instance_.bytes[group];
    host_only += instance_.host_only[group];
    for (std::size_t target = 0; target < instance_.targets; ++target) {
      const double there = instance_.target_time[group * instance_.targets + target];
      target_time[target] += std::max(0.0, there);
      refused[target] += there < 0 ? 1 : 0;
    }
    for (const std::uint32_t net : instance_.nets_of.of(group)) {
      count(net, -1);
      ++pins_in_[net];
      if (instance_.net_home[net] == group) home_in_[net] = 1;
      count(net, 1);
    }
    for (const std::uint32_t shared : instance_.shared.of(group)) {
      if (users_in_[shared]++ == 0) bytes += instance_.problem->shared_bytes[shared];
    }
  }

  void pop() {
    const std::uint32_t group = groups_.back();
    groups_.pop_back();
    time -= instance_.time[group];
    host_time -= instance_.host_time[group];
    bytes -= instance_.bytes[group];
    host_only -= instance_.host_only[group];
    for (std::size_t target = 0; target < instance_.targets; ++target) {
      const double there = instance_.target_time[group * instance_.targets + target];
      target_time[target] -= std::max(0.0, there);
      refused[target] -= there < 0 ? 1 : 0;
    }
    for (const std::uint32_t net : instance_.nets_of.of(group)) {
      count(net, -1);
      --pins_in_[net];
      if (instance_.net_home[net] == group) home_in_[net] = 0;
      count(net, 1);
    }
    for (const std::uint32_t shared : instance_.shared.of(group)) {
      if (--users_in_[shared] == 0) bytes -= instance_.problem->shared_bytes[shared];
    }
  }

  const std::vector<std::uint32_t>& groups() const { return groups_; }

  double time_on(const DeviceKind& kind) const {
    return target_time.empty() || kind.is_host ? time : target_time[kind.target];
  }
  bool is_taken_by(const DeviceKind& kind) const {
    return target_time.empty() ? host_only == 0 : refused[kind.target] == 0;
  }

  double time = 0, host_time = 0, in = 0, out = 0, bytes = 0;
  std::uint32_t host_only = 0;
  std::vector<double> target_time;     // of several targets: on each, without what it refuses
  std::vector<std::uint32_t> refused;  // groups

 private:
  void count(std::uint32_t net, double sign) {
    const std::uint32_t pins = pins_in_[net];
    if (pins == 0 || pins == instance_.pins.of(net).size()) return;
    (home_in_[net] != 0 ? out : in) += sign * instance_.net_cost[net];
  }

  const Instance& instance_;
  std::vector<std::uint32_t> groups_;
  std::vector<std::uint32_t> pins_in_;  // by net
  std::vector<std::uint8_t> home_in_;
  std::vector<std::uint32_t> users_in_;  // by shared parameter
};

class ExactSearch {
 public:
  ExactSearch(const Instance& instance, const Ideals& ideals, const ExactOptions& options)
      : instance_(instance),
        fleet_(*instance.fleet),
        ideals_(ideals),
        options_(options),
        states_(fleet_.state_count()),
        best_(ideals.count() * states_, kUnlimited),
        choice_(ideals.count() * states_),
        seen_from_(ideals.count(), kNoItem),
        cost_(fleet_.kinds().size(), kUnlimited),
        stage_(instance),
        memory_(instance) {
    const Capacity capacity(instance);
    measure_rest(capacity);
    measure_room(capacity);
  }

  ExactResult run() {
    best_[0] = 0;
    for (std::uint32_t ideal = 0; ideal < ideals_.count(); ++ideal) {
      pass_over_devices(ideal);
      if (!find_active(ideal)) continue;
      grow_stages(ideal);
      if (is_given_up_) return {};
    }
    return {.is_complete = true, .best = best_candidate()};
  }

 private:
  struct Choice {
    std::uint32_t from = 0;  // ideal
    std::uint16_t state = 0;
    std::uint16_t kind = 0;
  };
  static constexpr std::uint16_t kSkipped = 0xFFFF;
  struct Open {  // an ideal on the current path, and the next step to try from it
    std::uint32_t ideal;
    std::size_t next;
  };

  std::size_t at(std::size_t ideal, std::size_t state) const { return ideal * states_ + state; }

  // The compute left after each ideal.
  void measure_rest(const Capacity& capacity) {
    rest_.assign(ideals_.count(), capacity.total_time());
    for (std::uint32_t ideal = 0; ideal < ideals_.count(); ++ideal) {
      for (const Ideals::Next& next : ideals_.next(ideal)) {
        rest_[next.ideal] = rest_[ideal] - Capacity::time_of(instance_, next.group);
      }
    }
  }

  // The compute that the devices left in each state can do.
  void measure_room(const Capacity& capacity) {
    room_.assign(states_, 0);
    for (std::size_t state = states_; state-- > 0;) {
      for (const Step& step : fleet_.steps(static_cast<std::uint32_t>(state))) {
        const double more = options_.below == kUnlimited
                                ? kUnlimited
                                : capacity.of(fleet_.kinds()[step.kind], options_.below, 0);
        room_[state] = std::max(room_[state], room_[step.to] + more);
      }
    }
  }

  void pass_over_devices(std::uint32_t ideal) {
    if (!fleet_.may_skip()) return;
    for (std::size_t state = 0; state + 1 < states_; ++state) {
      if (best_[at(ideal, state)] >= best_[at(ideal, state + 1)]) continue;
      best_[at(ideal, state + 1)] = best_[at(ideal, state)];
      choice_[at(ideal, state + 1)] = {ideal, static_cast<std::uint16_t>(state), kSkipped};
    }
  }

  bool find_active(std::uint32_t ideal) {
    active_.clear();
    for (std::uint32_t state = 0; state < states_; ++state) {
      const bool is_reached = best_[at(ideal, state)] < options_.below;
      if (is_reached && rest_[ideal] <= room_[state] * (1 + 1e-9)) active_.push_back(state);
    }
    return !active_.empty();
  }

  // Visits the ideals above `from`, each once, with the stage between.
  void grow_stages(std::uint32_t from) {
    stage_.clear();
    walk_.assign(1, {from, 0});
    while (!walk_.empty()) {
      Open& open = walk_.back();
      const auto next = ideals_.next(open.ideal);
      if (open.next == next.size()) {
        if (walk_.size() > 1) stage_.pop();
        walk_.pop_back();
        continue;
      }
      const Ideals::Next& step = next[open.next++];
      if (seen_from_[step.ideal] == from) continue;
      seen_from_[step.ideal] = from;
      stage_.push(step.group);
      if (!price()) {
        stage_.pop();
        continue;
      }
      extend(from, step.ideal);
      if (is_given_up_) return;
      walk_.push_back({step.ideal, 0});
    }
  }

  // Prices the stage by kind; false when neither it nor a larger one can be below the limit.
  bool price() {
    ++stages_tried_;
    if (stages_tried_ % 65536 == 0) {
      tell(options_.progress, {"searching exactly", "stages", stages_tried_, options_.most_stages});
    }
    is_given_up_ = stages_tried_ > options_.most_stages ||
                   (stages_tried_ % 65536 == 0 && options_.deadline != nullptr &&
                    options_.deadline->has_passed());
    bool may_grow = false;
    for (std::size_t i = 0; i < cost_.size(); ++i) {
      const DeviceKind& kind = fleet_.kinds()[i];
      const double time = stage_.time_on(kind);
      const double compute = kind.is_host ? stage_.host_time : time * kind.time_scale;
      const bool fits = kind.is_host || (stage_.is_taken_by(kind) && stage_.bytes <= kind.memory);
      cost_[i] = kUnlimited;
      if (!fits || compute >= options_.below) continue;
      may_grow = true;
      cost_[i] = instance_.load(kind, time, stage_.host_time, stage_.in, stage_.out);
    }
    return may_grow;
  }

  void extend(std::uint32_t from, std::uint32_t ideal) {
    bool is_checked = !instance_.has_activations;
    for (const std::uint32_t state : active_) {
      const double so_far = best_[at(from, state)];
      for (const Step& step : fleet_.steps(state)) {
        const double objective = std::max(so_far, cost_[step.kind]);
        const std::size_t to = at(ideal, step.to);
        if (!(objective < options_.below) || objective >= best_[to]) continue;
        if (!std::exchange(is_checked, true)) check_activations();
        if (cost_[step.kind] == kUnlimited) continue;
        best_[to] = objective;
        choice_[to] = {from, static_cast<std::uint16_t>(state),
                       static_cast<std::uint16_t>(step.kind)};
      }
    }
  }

  // Live values take memory too: sets the price of kinds that cannot hold the stage to unlimited.
  void check_activations() {
    const double bytes = stage_.bytes + memory_.activation_bytes(stage_.groups());
    for (std::size_t i = 0; i < cost_.size(); ++i) {
      if (bytes > fleet_.kinds()[i].memory) cost_[i] = kUnlimited;
    }
  }

  Candidate best_candidate() {
    const auto last = static_cast<std::uint32_t>(ideals_.count() - 1);
    pass_over_devices(last);
    std::size_t state = states_ - 1;
    for (std::size_t other = 0; other < states_ && !fleet_.exact_stages(); ++other) {
      if (best_[at(last, other)] < best_[at(last, state)]) state = other;
    }
    Candidate candidate;
    candidate.objective = best_[at(last, state)];
    if (candidate.objective == kUnlimited) return candidate;
    std::vector<std::uint32_t> bounds = {last};  // ideals between stages, from the end
    for (std::uint32_t ideal = last; ideal != 0 || state != 0;) {
      const Choice choice = choice_[at(ideal, state)];
      if (choice.kind != kSkipped) {
        bounds.push_back(choice.from);
        candidate.kind_of_stage.push_back(choice.kind);
      }
      ideal = choice.from;
      state = choice.state;
    }
    std::reverse(bounds.begin(), bounds.end());
    std::reverse(candidate.kind_of_stage.begin(), candidate.kind_of_stage.end());
    candidate.stage_of.assign(instance_.size(), 0);
    for (std::uint32_t stage = 0; stage + 1 < bounds.size(); ++stage) {
      assign(bounds[stage], bounds[stage + 1], stage, candidate);
    }
    return candidate;
  }

  // The groups between two ideals, by a walk from one to the other.
  void assign(std::uint32_t from, std::uint32_t to, std::uint32_t stage, Candidate& candidate) {
    std::fill(seen_from_.begin(), seen_from_.end(), kNoItem);
    std::vector<Open> walk = {{from, 0}};
    std::vector<std::uint32_t> groups;
    while (walk.back().ideal != to) {
      Open& open = walk.back();
      const auto next = ideals_.next(open.ideal);
      if (open.next == next.size()) {
        groups.pop_back();
        walk.pop_back();
        continue;
      }
      const Ideals::Next& step = next[open.next++];
      if (step.ideal > to || std::exchange(seen_from_[step.ideal], from) == from) continue;
      groups.push_back(step.group);
      walk.push_back({step.ideal, 0});
    }
    for (const std::uint32_t group : groups) candidate.stage_of[group] = stage;
  }

  const Instance& instance_;
  const Fleet& fleet_;
  const Ideals& ideals_;
  const ExactOptions& options_;
  std::size_t states_;
  std::vector<double> best_;  // by ideal and state
  std::vector<Choice> choice_;
  std::vector<std::uint32_t> seen_from_;  // by ideal
  std::vector<double> cost_;              // of the stage, by kind
  std::vector<double> rest_;              // by ideal
  std::vector<double> room_;              // by state
  std::vector<std::uint32_t> active_;
  std::vector<Open> walk_;
  GrowingStage stage_;
  StageMemory memory_;
  std::uint64_t stages_tried_ = 0;
  bool is_given_up_ = false;
};

}  // namespace

ExactResult exact_search(const Instance& instance, const ExactOptions& options) {
  const std::size_t states = instance.fleet->state_count();
  if (states > 0x7FFF || instance.fleet->kinds().size() > 0x7FFF) return {};
  const std::size_t most = std::min(options.most_ideals, kMostCells / states);
  const auto ideals = Ideals::enumerate(instance, most);
  if (!ideals) return {};
  return ExactSearch(instance, *ideals, options).run();
}

}  // namespace cleave::balance
