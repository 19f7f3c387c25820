#include "core/balance/portfolio.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "core/balance/capacity.h"
#include "core/base/decimal.h"
#include "core/base/number_text.h"
#include "core/base/quantity.h"

namespace cleave::balance {

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
