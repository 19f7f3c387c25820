// The dynamic program. For each first block of a stage, in order:
// 1. pass over devices that may stay unused;
// 2. list the states that can still lead to a better cut;
// 3. grow the stage block by block, price it for each kind of device, and record each improvement.
#include "core/balance/linear.h"

#include <algorithm>

namespace cleave::balance {

LinearProgram::LinearProgram(const Instance& instance, const Line& line)
    : instance_(instance),
      line_(line),
      states_(static_cast<std::uint32_t>(instance.fleet->state_count())),
      rest_(line.size() + 1, 0),
      best_((line.size() + 1) * states_),
      choice_((line.size() + 1) * states_),
      cost_(instance.fleet->kinds().size()) {
  for (std::size_t block = line.size(); block-- > 0;) {
    rest_[block] = rest_[block + 1] + line.time[block];
  }
}

void LinearProgram::run(const LinearOptions& options) {
  std::fill(best_.begin(), best_.end(), kUnlimited);
  best_[0] = 0;
  const auto blocks = static_cast<std::uint32_t>(line_.size());
  Window window(line_);
  for (std::uint32_t first = 0; first < blocks; ++first) {
    pass_over_devices(first);
    if (!find_active(first, options.below)) continue;
    window.start(first);
    for (std::uint32_t last = first; last < blocks; ++last) {
      window.grow(last);
      if (!price(window, options)) break;
      extend(first, last, options.below);
    }
  }
  pass_over_devices(blocks);
}

void LinearProgram::pass_over_devices(std::uint32_t position) {
  if (!instance_.fleet->may_skip()) return;
  for (std::uint32_t state = 0; state + 1 < states_; ++state) {
    if (best_[at(position, state)] >= best_[at(position, state + 1)]) continue;
    best_[at(position, state + 1)] = best_[at(position, state)];
    choice_[at(position, state + 1)] = {position, state, kSkipped};
  }
}

bool LinearProgram::find_active(std::uint32_t position, double below) {
  active_.clear();
  const Fleet& fleet = *instance_.fleet;
  const double rest =
      fleet.is_uniform() ? rest_[position] * fleet.kinds().front().time_scale * (1 - 1e-9) : 0;
  for (std::uint32_t state = 0; state < states_; ++state) {
    if (!(best_[at(position, state)] < below)) continue;
    const std::uint32_t free = fleet.device_count() - fleet.used(state);
    if (free == 0 || rest > free * below) continue;
    active_.push_back(state);
  }
  return !active_.empty();
}

bool LinearProgram::price(const Window& window, const LinearOptions& options) {
  bool may_grow = false;
  const auto kinds = instance_.fleet->kinds();
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    const DeviceKind& kind = kinds[i];
    const double compute = kind.is_host ? window.host_time : window.time * kind.time_scale;
    const bool fits = kind.is_host ||
                      (!window.host_only && window.memory() <= kind.memory * options.memory_scale);
    cost_[i] = kUnlimited;
    if (!fits || compute >= options.below) continue;
    may_grow = true;
    cost_[i] = instance_.load(kind, window.time, window.host_time, window.in, window.out);
  }
  return may_grow;
}

void LinearProgram::extend(std::uint32_t first, std::uint32_t last, double below) {
  for (const std::uint32_t state : active_) {
    const double so_far = best_[at(first, state)];
    for (const Step& step : instance_.fleet->steps(state)) {
      const double objective = std::max(so_far, cost_[step.kind]);
      const std::size_t to = at(last + 1, step.to);
      if (!(objective < below) || objective >= best_[to]) continue;
      best_[to] = objective;
      choice_[to] = {first, state, step.kind};
    }
  }
}

LineCut LinearProgram::best() const {
  const auto blocks = static_cast<std::uint32_t>(line_.size());
  std::uint32_t state = instance_.fleet->full_state();
  if (!instance_.fleet->exact_stages()) {
    for (std::uint32_t other = 0; other < states_; ++other) {
      const double gain = best_[at(blocks, state)] - best_[at(blocks, other)];
      if (gain > 0 || (gain == 0 && other < state)) state = other;
    }
  }
  LineCut cut{.objective = best_[at(blocks, state)], .ends = {}, .kinds = {}};
  if (cut.objective == kUnlimited) return cut;
  for (std::uint32_t position = blocks; position > 0 || state != 0;) {
    const Choice& choice = choice_[at(position, state)];
    if (choice.kind != kSkipped) {
      cut.ends.push_back(position);
      cut.kinds.push_back(choice.kind);
    }
    position = choice.first;
    state = choice.state;
  }
  std::reverse(cut.ends.begin(), cut.ends.end());
  std::reverse(cut.kinds.begin(), cut.kinds.end());
  return cut;
}

std::vector<double> LinearProgram::curve() const {
  const auto blocks = static_cast<std::uint32_t>(line_.size());
  std::vector<double> objective(instance_.fleet->device_count(), kUnlimited);
  for (std::uint32_t state = 1; state < states_; ++state) {
    double& best = objective[instance_.fleet->used(state) - 1];
    best = std::min(best, best_[at(blocks, state)]);
  }
  if (instance_.fleet->exact_stages()) return objective;
  for (std::size_t i = 1; i < objective.size(); ++i) {
    objective[i] = std::min(objective[i], objective[i - 1]);
  }
  return objective;
}

Candidate candidate_of(const LineCut& cut, const Order& order,
                       std::span<const std::uint32_t> block_ends) {
  Candidate candidate;
  candidate.objective = cut.objective;
  if (cut.objective == kUnlimited) return candidate;
  candidate.kind_of_stage = cut.kinds;
  candidate.stage_of.resize(order.size());
  std::uint32_t stage = 0;
  for (std::uint32_t position = 0; position < order.size(); ++position) {
    while (position >= block_ends[cut.ends[stage] - 1]) ++stage;
    candidate.stage_of[order[position]] = stage;
  }
  return candidate;
}

}  // namespace cleave::balance
