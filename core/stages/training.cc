#include "core/stages/stages.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <set>
#include <utility>

namespace cleave {

namespace {

class BackwardPlanner {
 public:
  BackwardPlanner(const Graph& graph, const Partition& partition, const Boundaries& boundaries,
                  ValueId loss)
      : graph_(graph),
        partition_(partition),
        boundaries_(boundaries),
        is_live_(graph.value_count()),
        gradient_(graph.value_count(), kNone<GradientId>),
        has_gradient_(graph.value_count()) {
    plan_.loss = loss;
    is_live_.insert(loss);
    has_gradient_.insert(loss);  // null: the loss itself
  }

  BackwardPlan plan() && {
    for (std::size_t i = partition_.count(); i-- > 0;) {
      const auto stage = id_at<PartId>(i);
      if (std::ranges::any_of(boundaries_.outputs[stage],
                              [&](ValueId value) { return is_live_.contains(value); })) {
        call_backwards(stage);
      }
    }
    return std::move(plan_);
  }

 private:
  void call_backwards(PartId stage) {
    StageBackward step{.stage = stage,
                       .output_gradients = {},
                       .outputs_with_gradients = {},
                       .first = id_at<GradientId>(plan_.value_of.size())};
    const auto outputs = boundaries_.outputs[stage];
    for (std::uint32_t i = 0; i < outputs.size(); ++i) {
      step.output_gradients.push_back(gradient_[outputs[i]]);
      if (is_live_.contains(outputs[i])) step.outputs_with_gradients.push_back(i);
    }
    const auto inputs = boundaries_.inputs[stage];
    for (const ValueId value : inputs) {
      is_live_.insert(value);
      plan_.value_of.push_back(value);
    }
    plan_.steps.emplace_back(step);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      take_in(inputs[i], id_at<GradientId>(index(step.first) + i));
    }
  }

  void take_in(ValueId value, GradientId gradient) {
    if (!has_gradient_.insert(value) && graph_.value(value).kind != ValueKind::input) {
      const auto sum = id_at<GradientId>(plan_.value_of.size());
      plan_.value_of.push_back(value);
      plan_.steps.emplace_back(AccumulateGradient{value, gradient_[value], gradient, sum});
      gradient = sum;
    }
    gradient_[value] = gradient;
  }

  const Graph& graph_;
  const Partition& partition_;
  const Boundaries& boundaries_;
  ValueSet is_live_;               // the loss depends on it
  PerValue<GradientId> gradient_;  // the latest
  ValueSet has_gradient_;
  BackwardPlan plan_;
};

}  // namespace

Result<BackwardPlan> plan_backward(const Graph& graph, const Partition& partition,
                                   const Boundaries& boundaries, ValueId loss) {
  const Value& value = graph.value(loss);
  if (value.kind != ValueKind::node_output) {
    return Error{"the loss \"" + std::string(value.name) + "\" is " +
                 (value.kind == ValueKind::input ? "an input of the model" : "a parameter") +
                 ": no stage computes it"};
  }
  return BackwardPlanner(graph, partition, boundaries, loss).plan();
}

// Steps of make_schedule():
// 1. order the works of each rank by the rules of the schedule; for zero_bubble a search finds the
//    order;
// 2. set the times: a work begins when its rank is free and its inputs have arrived;
// 3. find the peak of memory of each rank.

namespace {

constexpr double kNotYet = std::numeric_limits<double>::infinity();

using Orders = std::vector<std::vector<Work>>;

std::uint32_t stage_count(const ScheduleInput& input) {
  return static_cast<std::uint32_t>(input.stages.size());
}

// ---- when each pass of each stage ends ----

class Times {
 public:
  explicit Times(const ScheduleInput& input)
      : input_(input),
        forward_(input.stages.size() * input.microbatches, kNotYet),
        backward_(forward_.size(), kNotYet) {}

  // When the work may begin; infinite while what it needs has not been computed.
  double ready(const Work& work) const {
    const std::uint32_t stage = work.stage;
    if (work.kind == WorkKind::weight_gradient) return backward_[at(stage, work.microbatch)];
    if (work.kind == WorkKind::forward) {
      if (stage == 0) return 0;
      return forward_[at(stage - 1, work.microbatch)] + crossing(stage - 1, stage);
    }
    const double own = forward_[at(stage, work.microbatch)];
    if (stage + 1 == stage_count(input_)) return own;
    return std::max(own, backward_[at(stage + 1, work.microbatch)] + crossing(stage, stage + 1));
  }

  double length(const Work& work) const {
    const StageCost& cost = input_.stages[work.stage];
    if (work.kind == WorkKind::forward) return cost.forward;
    return work.kind == WorkKind::backward ? cost.backward : cost.backward / 2;
  }

  void note(const Work& work) {
    if (work.kind == WorkKind::weight_gradient) return;
    auto& ends = work.kind == WorkKind::forward ? forward_ : backward_;
    ends[at(work.stage, work.microbatch)] = work.end;
  }

 private:
  std::size_t at(std::uint32_t stage, std::uint32_t microbatch) const {
    return std::size_t{stage} * input_.microbatches + microbatch;
  }
  // The transfer time between the stages; 0 if they are on one rank.
  double crossing(std::uint32_t from, std::uint32_t to) const {
    const bool is_sent = from % input_.ranks != to % input_.ranks;
    return is_sent ? input_.stages[from].transfer : 0;
  }

  const ScheduleInput& input_;
  std::vector<double> forward_, backward_;  // by stage and microbatch
};

// ---- orders ----

Orders gpipe_orders(const ScheduleInput& input) {
  Orders orders(input.ranks);
  const std::uint32_t stages = stage_count(input);
  for (std::uint32_t stage = 0; stage < stages; ++stage) {
    for (std::uint32_t m = 0; m < input.microbatches; ++m) {
      orders[stage % input.ranks].push_back({WorkKind::forward, stage, m});
    }
  }
  for (std::uint32_t stage = stages; stage-- > 0;) {
    for (std::uint32_t m = 0; m < input.microbatches; ++m) {
      orders[stage % input.ranks].push_back({WorkKind::backward, stage, m});
    }
  }
  return orders;
}

// The order of 1f1b and of interleaved stages: forward passes until `warmup` are in flight, then
// one forward and one backward pass in turn, then the rest of the backward passes. With one stage
// for each rank this is 1f1b. With more stages, passes go round by round: in a round, some
// microbatches pass through the rank's stages one after the other.
class InterleavedOrder {
 public:
  InterleavedOrder(const ScheduleInput& input, std::uint32_t rank)
      : input_(input), rank_(rank), local_(stage_count(input) / input.ranks) {
    const std::uint32_t rounds = std::max(1U, input.microbatches / input.ranks);
    in_round_ = input.microbatches / rounds;
  }

  std::vector<Work> works() const {
    const std::uint32_t all = local_ * input_.microbatches;
    const std::uint32_t before = local_ == 1
                                     ? input_.ranks - rank_ - 1
                                     : (local_ - 1) * in_round_ + 2 * (input_.ranks - 1 - rank_);
    const std::uint32_t warmup = std::min(before, all);
    std::vector<Work> works;
    for (std::uint32_t i = 0; i < all + warmup; ++i) {
      if (i < all) works.push_back(work(WorkKind::forward, i));
      if (i >= warmup) works.push_back(work(WorkKind::backward, i - warmup));
    }
    return works;
  }

 private:
  Work work(WorkKind kind, std::uint32_t step) const {
    const std::uint32_t in_turn = step / in_round_ % local_;
    const std::uint32_t local = kind == WorkKind::forward ? in_turn : local_ - 1 - in_turn;
    const std::uint32_t round = step / (in_round_ * local_);
    return {kind, local * input_.ranks + rank_, round * in_round_ + step % in_round_};
  }

  const ScheduleInput& input_;
  std::uint32_t rank_, local_;
  std::uint32_t in_round_ = 1;  // microbatches
};

// The order of zero_bubble: each rank takes the work that it can begin first; of works that can
// begin at once, the first kind in `precedence`. No rank holds the activations of more microbatches
// than there are ranks. The caller tries all precedences of the three kinds.
class ZeroBubble {
 public:
  using Precedence = std::array<WorkKind, 3>;

  ZeroBubble(const ScheduleInput& input, const Precedence& precedence)
      : input_(input),
        precedence_(precedence),
        times_(input),
        ranks_(input.ranks),
        next_(input.ranks),
        orders_(input.ranks) {}

  // Makes the order; returns when the last work ends. A work changes what its own rank and the two
  // ranks beside it can begin.
  double run() {
    double end = 0;
    for (std::uint32_t rank = 0; rank < input_.ranks; ++rank) look(rank);
    while (!waiting_.empty()) {
      const std::uint32_t rank = waiting_.begin()->second;
      const Work work = *next_[rank];
      take(rank, work);
      end = std::max(end, work.end);
      if (rank > 0) look(rank - 1);
      look(rank);
      if (rank + 1 < input_.ranks) look(rank + 1);
    }
    return end;
  }

  Orders& orders() { return orders_; }

 private:
  struct Rank {
    std::uint32_t forward = 0, input = 0, weight = 0;  // microbatches done
    double free = 0;
  };

  static std::uint32_t& done(Rank& rank, WorkKind kind) {
    if (kind == WorkKind::forward) return rank.forward;
    return kind == WorkKind::input_gradient ? rank.input : rank.weight;
  }

  bool is_allowed(const Rank& state, WorkKind kind, std::uint32_t rank) const {
    if (kind == WorkKind::input_gradient) return state.input < state.forward;
    if (kind == WorkKind::weight_gradient) return state.weight < state.input;
    return state.forward < input_.microbatches && state.forward - state.weight < input_.ranks &&
           state.forward - state.input < input_.ranks - rank;
  }

  // Finds the rank's next work again.
  void look(std::uint32_t rank) {
    if (next_[rank]) waiting_.erase({next_[rank]->begin, rank});
    next_[rank] = best(rank);
    if (next_[rank]) waiting_.insert({next_[rank]->begin, rank});
  }

  std::optional<Work> best(std::uint32_t rank) const {
    Rank state = ranks_[rank];
    std::optional<Work> chosen;
    for (const WorkKind kind : precedence_) {
      if (!is_allowed(state, kind, rank)) continue;
      Work work{.kind = kind, .stage = rank, .microbatch = done(state, kind)};
      work.begin = std::max(state.free, times_.ready(work));
      if (work.begin == kNotYet || (chosen && work.begin >= chosen->begin)) continue;
      work.end = work.begin + times_.length(work);
      chosen = work;
    }
    return chosen;
  }

  void take(std::uint32_t rank, const Work& work) {
    Rank& state = ranks_[rank];
    ++done(state, work.kind);
    state.free = work.end;
    times_.note(work);
    orders_[rank].push_back(work);
  }

  const ScheduleInput& input_;
  Precedence precedence_;
  Times times_;
  std::vector<Rank> ranks_;
  std::vector<std::optional<Work>> next_;               // by rank: what it can begin first
  std::set<std::pair<double, std::uint32_t>> waiting_;  // when each of these begins, and its rank
  Orders orders_;
};

Orders zero_bubble_orders(const ScheduleInput& input) {
  ZeroBubble::Precedence kinds = {WorkKind::forward, WorkKind::input_gradient,
                                  WorkKind::weight_gradient};
  Orders best;
  double least = kNotYet;
  do {
    ZeroBubble tried(input, kinds);
    const double end = tried.run();
    if (end >= least) continue;
    least = end;
    best = std::move(tried.orders());
  } while (std::next_permutation(kinds.begin(), kinds.end()));
  return best;
}

// ---- times and memory ----

// Sets the times of the works: the ranks take turns, each going on until it must wait. Returns
// false when ranks wait for each other, which does not happen with the orders above.
bool add_times(const ScheduleInput& input, Orders& orders) {
  Times times(input);
  std::vector<std::size_t> next(orders.size(), 0);
  std::vector<double> free(orders.size(), 0);
  for (bool has_moved = true; has_moved;) {
    has_moved = false;
    for (std::size_t rank = 0; rank < orders.size(); ++rank) {
      for (; next[rank] < orders[rank].size(); ++next[rank]) {
        Work& work = orders[rank][next[rank]];
        const double ready = times.ready(work);
        if (ready == kNotYet) break;
        work.begin = std::max(free[rank], ready);
        work.end = free[rank] = work.begin + times.length(work);
        times.note(work);
        has_moved = true;
      }
    }
  }
  for (std::size_t rank = 0; rank < orders.size(); ++rank) {
    if (next[rank] < orders[rank].size()) return false;
  }
  return true;
}

// The peak of the rank's memory. Activations are held until the gradient of the weights is
// computed. nullopt when the bytes of a stage are unknown.
std::optional<double> peak_of(const ScheduleInput& input, const std::vector<Work>& works,
                              std::uint32_t rank) {
  double held = 0;
  for (std::uint32_t stage = rank; stage < stage_count(input); stage += input.ranks) {
    const StageCost& cost = input.stages[stage];
    if (!cost.held_bytes || !cost.activation_bytes) return std::nullopt;
    held += *cost.held_bytes;
  }
  double peak = held;
  for (const Work& work : works) {
    const double bytes = *input.stages[work.stage].activation_bytes;
    if (work.kind == WorkKind::forward) {
      peak = std::max(peak, held += bytes);
    } else if (work.kind != WorkKind::input_gradient) {
      held -= bytes;
    }
  }
  return peak;
}

std::optional<Error> fault_of(ScheduleKind kind, const ScheduleInput& input) {
  const std::uint32_t stages = stage_count(input), ranks = input.ranks;
  const std::string name(schedule_name(kind));
  const auto sizes = [&] {
    return std::to_string(stages) + " stages on " + std::to_string(ranks) + " ranks";
  };
  if (std::uint64_t{stages} * input.microbatches > kMostPasses) {
    return Error{name + ": " + std::to_string(stages) + " stages with " +
                 std::to_string(input.microbatches) + " microbatches are " +
                 std::to_string(std::uint64_t{stages} * input.microbatches) +
                 " forward passes, and a schedule has at most " + std::to_string(kMostPasses)};
  }
  if (ranks == 0 || stages == 0 || stages % ranks != 0) {
    return Error{name + ": " + sizes() + ": each rank must have as many stages as the others"};
  }
  const std::uint32_t each = stages / ranks;
  if (each > 1 && (kind == ScheduleKind::one_f_one_b || kind == ScheduleKind::zero_bubble)) {
    return Error{name + ": " + sizes() + ": it takes one stage a rank"};
  }
  if (kind != ScheduleKind::interleaved) return std::nullopt;
  if (each == 1) return Error{name + ": " + sizes() + ": it takes two or more stages a rank"};
  const std::uint32_t rounds = std::max(1U, input.microbatches / ranks);
  if (input.microbatches % rounds == 0) return std::nullopt;
  return Error{name + ": " + std::to_string(input.microbatches) +
               " microbatches do not divide into " + std::to_string(rounds) +
               " rounds: take a multiple of " + std::to_string(ranks)};
}

}  // namespace

std::string_view schedule_name(ScheduleKind kind) {
  switch (kind) {
    case ScheduleKind::gpipe:
      return "gpipe";
    case ScheduleKind::one_f_one_b:
      return "1f1b";
    case ScheduleKind::interleaved:
      return "interleaved";
    case ScheduleKind::zero_bubble:
      break;
  }
  return "zero-bubble";
}

std::optional<double> Schedule::most_bytes() const {
  double most = 0;
  for (const std::optional<double>& bytes : peak_bytes) {
    if (!bytes) return std::nullopt;
    most = std::max(most, *bytes);
  }
  return most;
}

Result<Schedule> make_schedule(ScheduleKind kind, const ScheduleInput& input) {
  if (auto fault = fault_of(kind, input)) return *std::move(fault);
  Schedule schedule{.kind = kind, .ranks = {}, .peak_bytes = {}};
  if (kind == ScheduleKind::gpipe) {
    schedule.ranks = gpipe_orders(input);
  } else if (kind == ScheduleKind::zero_bubble) {
    schedule.ranks = zero_bubble_orders(input);
  } else {
    for (std::uint32_t rank = 0; rank < input.ranks; ++rank) {
      schedule.ranks.push_back(InterleavedOrder(input, rank).works());
    }
  }
  if (!add_times(input, schedule.ranks))
    return Error{"the ranks of the schedule wait for each other"};
  double work_time = 0;
  for (std::uint32_t rank = 0; rank < input.ranks; ++rank) {
    for (const Work& work : schedule.ranks[rank]) {
      work_time += work.end - work.begin;
      schedule.makespan = std::max(schedule.makespan, work.end);
    }
    schedule.peak_bytes.push_back(peak_of(input, schedule.ranks[rank], rank));
  }
  const double all_time = schedule.makespan * input.ranks;
  schedule.bubble = all_time > 0 ? std::max(0.0, 1 - work_time / all_time) : 0;
  return schedule;
}

std::string schedule_csv(const Schedule& schedule) {
  constexpr std::string_view kLetters = "FBIW";  // by WorkKind
  std::string text;
  for (const std::vector<Work>& works : schedule.ranks) {
    for (std::size_t i = 0; i < works.size(); ++i) {
      if (i > 0) text += ',';
      text += std::to_string(works[i].stage);
      text += kLetters[static_cast<std::size_t>(works[i].kind)];
      text += std::to_string(works[i].microbatch);
    }
    text += '\n';
  }
  return text;
}

}  // namespace cleave
