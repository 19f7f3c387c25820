// Steps:
// 1. cut the standard orders;
// 2. if no cut fits memory, look for a fitting assignment;
// 3. raise the lower bound by minimum cuts;
// 4. search exactly with a small budget, then locally, then exactly with a larger budget; stop as
//    soon as the best answer reaches the bound;
// 5. draw the curve of the best load by number of stages.
#include "core/balance/portfolio.h"

#include <algorithm>
#include <utility>

namespace cleave::balance {
namespace {

constexpr std::size_t kMostForAllOrders = 200'000;
constexpr std::size_t kMostForLocalSearch = 20'000;
constexpr std::size_t kMostForExactSearch = 5'000;
constexpr double kTight = 2e-9;  // bounds are rounded down by 1e-9

}  // namespace

Budget budget_for(Effort effort, std::size_t groups) {
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

Answer Portfolio::run() {
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

void Portfolio::cut_orders() {
  if (budget_.orders == 1) {
    orders_.push_back(given_order(instance_));
  } else {
    orders_ = standard_orders(instance_);
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
