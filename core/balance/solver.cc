// Steps of one search:
// 1. join items that must be in one stage, and number the groups (instance.h);
// 2. refuse what cannot fit at all (find_obstacle);
// 3. contract groups, unless the graph is large;
// 4. run the portfolio of searches (portfolio.h);
// 5. expand its answer, or say why there is none.
// With a target, the search is repeated with fewer and fewer devices.
#include "core/balance/solver.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/balance/portfolio.h"

namespace cleave {
namespace {

using balance::Deadline;
using balance::Fleet;
using balance::Instance;
using balance::PortfolioAnswer;

constexpr std::size_t kMostToContract = 50'000;
constexpr std::size_t kMostStates = 2048;  // of a fleet: the tables grow with them
constexpr std::uint32_t kMostOfCurve = 4096;
constexpr double kAsGood = 1.001;  // times the objective: not worth more devices

std::uint32_t enough_of(const std::vector<CurvePoint>& curve, double objective) {
  for (const CurvePoint& point : curve) {
    if (point.objective <= objective * kAsGood) return point.stages;
  }
  return curve.empty() ? 0 : curve.back().stages;
}

BalanceResult result_of(PortfolioAnswer answer, const Deadline& deadline) {
  BalanceResult result;
  result.objective = answer.best.objective;
  result.stages = std::move(answer.best.stages);
  result.stage_of = std::move(answer.best.stage_of);
  result.bound = std::min(answer.bound.objective, result.objective);
  result.certificate = std::move(answer.bound.certificate);
  // A bound is rounded down by 1e-9, so a nearer one counts as equal.
  if (result.bound >= result.objective * (1 - 4e-9)) result.bound = result.objective;
  result.gap = result.bound > 0 ? result.objective / result.bound - 1 : 0;
  for (std::size_t i = 0; i < answer.curve.size(); ++i) {
    result.curve.push_back({static_cast<std::uint32_t>(i + 1), answer.curve[i]});
  }
  result.enough_stages = enough_of(result.curve, result.objective);
  result.moves = answer.moves;
  result.time_limit_hit = deadline.has_passed();
  if (result.time_limit_hit) {
    result.notes.emplace_back("the time limit stopped the search: the result may not repeat");
  }
  return result;
}

Result<BalanceResult> balance_all(const BalanceProblem& problem, const BalanceOptions& options,
                                  const Deadline& deadline) {
  const Fleet fleet(problem, options.exact_stages);
  const Components tied = balance::tied_items(problem);
  Instance instance = make_instance(problem, fleet, options.comm, tied.of, tied.count);
  if (auto obstacle = find_obstacle(instance)) return std::move(*obstacle);
  if (instance.size() <= kMostToContract) instance = contracted(std::move(instance));
  PortfolioAnswer answer = balance::Portfolio(instance, options, deadline).run();
  if (answer.best.stages.empty()) {
    return no_room(instance, answer.is_proved_impossible, answer.least_excess_bytes);
  }
  return result_of(std::move(answer), deadline);
}

std::uint32_t device_count(const BalanceProblem& problem) {
  std::uint32_t count = 0;
  for (const BalanceDevice& device : problem.devices) count += device.count;
  return count;
}

// The problem with its first `count` devices only.
BalanceProblem with_devices(BalanceProblem problem, std::uint32_t count) {
  for (BalanceDevice& device : problem.devices) {
    device.count = std::min(device.count, count);
    count -= device.count;
  }
  std::erase_if(problem.devices, [](const BalanceDevice& device) { return device.count == 0; });
  return problem;
}

// Goes down from the curve's answer, one device at a time, as long as the target is met.
Result<BalanceResult> fewest_stages(const BalanceProblem& problem, const BalanceOptions& options,
                                    const Deadline& deadline) {
  Result<BalanceResult> best = balance_all(problem, options, deadline);
  if (!best) return best;
  if (best->objective > options.target) {
    const bool is_proved = best->bound > options.target;
    Error error{"no assignment to " + std::to_string(device_count(problem)) + " devices " +
                (is_proved ? "takes " : "was found that takes ") +
                balance::time_text(problem, options.target) + " or less"};
    error.notes.push_back("the best found takes " + balance::time_text(problem, best->objective) +
                          ", no assignment less than " + balance::time_text(problem, best->bound));
    return error;
  }
  std::uint32_t count = device_count(problem);
  for (const CurvePoint& point : best->curve) {
    if (point.objective <= options.target) count = std::min(count, point.stages);
  }
  std::vector<CurvePoint> curve = best->curve;
  bool is_proved = false;
  for (std::uint32_t fewer = count; fewer > 0; --fewer) {
    Result<BalanceResult> next = balance_all(with_devices(problem, fewer), options, deadline);
    if (next && next->objective <= options.target) {
      best = std::move(next);
      count = fewer;
      continue;
    }
    is_proved = next && next->bound > options.target;
    if (fewer < count) break;
  }
  for (CurvePoint& point : curve) {
    if (point.stages >= count) point.objective = std::min(point.objective, best->objective);
  }
  best->curve = std::move(curve);
  best->notes.emplace_back(is_proved || count == 1
                               ? "proved: fewer stages cannot reach the target"
                               : "fewer stages were tried and did not reach the target");
  return best;
}

// Devices of a kind beyond the number of items change nothing.
BalanceProblem without_idle_devices(BalanceProblem problem) {
  const auto most = static_cast<std::uint32_t>(problem.items.size());
  for (BalanceDevice& device : problem.devices) device.count = std::min(device.count, most);
  return problem;
}

// The number of states that the devices make, see Fleet; an estimate from the list alone.
std::size_t count_states(const BalanceProblem& problem) {
  if (problem.devices_in_order) return std::size_t{device_count(problem)} + 1;
  std::size_t states = 1;
  for (const BalanceDevice& device : problem.devices) {
    states = std::min(states, kMostStates + 1) * (std::size_t{device.count} + 1);
  }
  return states;
}

Result<BalanceResult> balance_some(const BalanceProblem& problem, const BalanceOptions& options,
                                   const Deadline& deadline) {
  if (count_states(problem) > kMostStates) {
    return Error{"there are too many devices (" + std::to_string(device_count(problem)) +
                 "): stages can be balanced over about 2,000"};
  }
  if (options.target < kUnlimited) return fewest_stages(problem, options, deadline);
  return balance_all(problem, options, deadline);
}

}  // namespace

Result<BalanceResult> balance_stages(const BalanceProblem& problem, const BalanceOptions& options) {
  const Deadline deadline(options.time_limit_seconds);
  const std::uint32_t devices = device_count(problem);
  if (devices == 0) return Error{"there is no device to run on"};
  if (problem.items.empty()) return BalanceResult{};
  if (options.exact_stages && devices > problem.items.size()) {
    return balance::too_few_to_stand_apart(devices, problem.items.size());
  }
  const bool has_idle = !problem.devices_in_order && devices > problem.items.size();
  Result<BalanceResult> result =
      has_idle ? balance_some(without_idle_devices(problem), options, deadline)
               : balance_some(problem, options, deadline);
  if (!result || result->curve.empty()) return result;
  while (result->curve.size() < std::min(devices, kMostOfCurve)) {
    result->curve.push_back(result->curve.back());
    ++result->curve.back().stages;
  }
  return result;
}

}  // namespace cleave
