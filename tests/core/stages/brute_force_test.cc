// Balanced stages against all assignments of small random problems, costed independently.

#include <algorithm>
#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "core/stages/balance.h"
#include "core/stages/solvers.h"
#include "tests/catch2.h"

namespace cleave {

namespace {

using Stages = std::vector<std::uint32_t>;  // device slot by item

class Chance {
 public:
  explicit Chance(std::uint32_t seed) : engine_(seed) {}
  std::uint32_t below(std::uint32_t limit) { return static_cast<std::uint32_t>(engine_() % limit); }
  bool one_in(std::uint32_t n) { return below(n) == 0; }

 private:
  std::mt19937 engine_;
};

struct Shape {
  bool colours = false, shared = false, activations = false, host = false, in_order = false;
  bool targets = false;  // "a" and "b" are of different targets
};

BalanceProblem random_problem(Chance& chance, const Shape& shape) {
  BalanceProblem problem;
  const std::uint32_t count = 3 + chance.below(5);
  const std::uint32_t cost_scale = 1 + chance.below(8);
  for (std::uint32_t i = 0; i < count; ++i) {
    BalanceItem item{.time = static_cast<double>(chance.below(10)),
                     .host_time = static_cast<double>(chance.below(30)),
                     .bytes = static_cast<double>(chance.below(5))};
    if (shape.colours && chance.one_in(3)) item.colour = chance.below(3);
    if (shape.host) item.runs_on_accelerator = !chance.one_in(6);
    problem.items.push_back(item);
    BalanceNet net{.producer = i, .cost = static_cast<double>(chance.below(cost_scale))};
    if (shape.activations) net.bytes = chance.below(6);
    net.is_output = chance.one_in(5);
    problem.nets.push_back(net);
    for (std::uint32_t j = i + 1; j < count; ++j) {
      if (chance.below(3) == 0) problem.consumers.add(j);
    }
    problem.consumers.end_list();
  }
  problem.nets.push_back({.producer = kNoItem, .bytes = shape.activations ? 3.0 : 0.0});
  problem.consumers.add(chance.below(count));
  problem.consumers.end_list();
  if (shape.shared) {
    problem.shared_bytes = {4, 2};
    for (int i = 0; i < 2; ++i) {
      problem.shared_users.add(chance.below(count));
      problem.shared_users.add(chance.below(count));
      problem.shared_users.end_list();
    }
  }
  problem.successors = successors_of_nets(problem);
  return problem;
}

// Times on two targets, each of which refuses some items.
void add_targets(BalanceProblem& problem, Chance& chance) {
  for (BalanceItem& item : problem.items) {
    double least = kUnlimited;
    for (int target = 0; target < 2; ++target) {
      const double time = chance.one_in(4) ? -1 : static_cast<double>(chance.below(10));
      problem.target_times.push_back(time);
      if (time >= 0) least = std::min(least, time);
    }
    item.runs_on_accelerator = least < kUnlimited;
    item.time = item.runs_on_accelerator ? least : 0;
  }
}

void add_devices(BalanceProblem& problem, Chance& chance, const Shape& shape, double memory) {
  problem.devices = {{.name = "a", .memory = memory, .count = 2 + chance.below(2)}};
  if (shape.in_order) {
    problem.devices_in_order = true;
    problem.devices.push_back(
        {.name = "b", .speed = 2, .transfer_scale = 0.5, .memory = memory * 1.5, .count = 1});
    if (shape.targets) problem.devices.back().target = 1;
  }
  if (shape.host) problem.devices.push_back({.name = "h", .is_host = true});
}

// All that one stage costs, from the definition; kUnlimited when it does not fit.
double load_of(const BalanceProblem& problem, CommModel comm, const Stages& stage_of,
               std::uint32_t stage, const BalanceDevice& device) {
  double time = 0, host_time = 0, in = 0, out = 0, bytes = 0;
  const auto count = static_cast<std::uint32_t>(stage_of.size());
  for (std::uint32_t i = 0; i < count; ++i) {
    if (stage_of[i] != stage) continue;
    time += problem.target_times.empty() ? problem.items[i].time
                                         : problem.target_times[2 * i + device.target];
    const bool is_refused =
        !problem.target_times.empty() && problem.target_times[2 * i + device.target] < 0;
    if (is_refused && !device.is_host) return kUnlimited;
    host_time += problem.items[i].host_time;
    bytes += problem.items[i].bytes;
    if (!problem.items[i].runs_on_accelerator && !device.is_host) return kUnlimited;
  }
  for (std::uint32_t i = 0; i < problem.shared_bytes.size(); ++i) {
    const auto users = problem.shared_users.of(i);
    const bool used = std::any_of(users.begin(), users.end(),
                                  [&](std::uint32_t user) { return stage_of[user] == stage; });
    if (used) bytes += problem.shared_bytes[i];
  }
  double peak = 0, held = 0;
  std::vector<double> live(count, 0);
  for (std::uint32_t n = 0; n < problem.nets.size(); ++n) {
    const BalanceNet& net = problem.nets[n];
    bool inside = false, outside = net.is_output;
    std::uint32_t last = 0;
    for (const std::uint32_t reader : problem.consumers.of(n)) {
      (stage_of[reader] == stage ? inside : outside) = true;
      last = std::max(last, reader);
    }
    const bool is_home = net.producer != kNoItem && stage_of[net.producer] == stage;
    bool sent = false;
    for (const std::uint32_t reader : problem.consumers.of(n)) {
      sent = sent || stage_of[reader] != stage;
    }
    if (is_home && sent) out += net.cost;
    if (!is_home && inside && net.producer != kNoItem) in += net.cost;
    if (!is_home && inside) held += net.bytes;
    if (!is_home) continue;
    const std::uint32_t end = outside ? count - 1 : std::max(last, net.producer);
    for (std::uint32_t i = net.producer; i <= end; ++i) live[i] += net.bytes;
  }
  for (std::uint32_t i = 0; i < count; ++i) {
    if (stage_of[i] == stage) peak = std::max(peak, live[i]);
  }
  if (device.is_host) return host_time;
  if (bytes + held + peak > device.memory) return kUnlimited;
  time /= device.speed;
  in *= device.transfer_scale;
  out *= device.transfer_scale;
  if (comm == CommModel::serial) return time + in + out;
  if (comm == CommModel::overlap) return std::max(time, in + out);
  if (comm == CommModel::duplex) return std::max({time, in, out});
  return time;
}

bool is_allowed(const BalanceProblem& problem, const Stages& stage_of) {
  for (std::uint32_t i = 0; i < stage_of.size(); ++i) {
    for (const std::uint32_t next : problem.successors.of(i)) {
      if (stage_of[next] < stage_of[i]) return false;
    }
    for (std::uint32_t j = 0; j < i; ++j) {
      const bool tied =
          problem.items[i].colour != kNoItem && problem.items[i].colour == problem.items[j].colour;
      if (tied && stage_of[i] != stage_of[j]) return false;
    }
  }
  return true;
}

// The devices in every order in which stages may take them.
std::vector<std::vector<BalanceDevice>> device_orders(const BalanceProblem& problem) {
  std::vector<std::uint32_t> entries;
  for (std::uint32_t i = 0; i < problem.devices.size(); ++i) {
    entries.insert(entries.end(), problem.devices[i].count, i);
  }
  std::vector<std::vector<BalanceDevice>> orders;
  do {
    orders.emplace_back();
    for (const std::uint32_t entry : entries) orders.back().push_back(problem.devices[entry]);
  } while (!problem.devices_in_order && std::next_permutation(entries.begin(), entries.end()));
  return orders;
}

double brute_force(const BalanceProblem& problem, const BalanceOptions& options) {
  double best = kUnlimited;
  const std::vector<std::vector<BalanceDevice>> orders = device_orders(problem);
  const auto devices = static_cast<std::uint32_t>(orders.front().size());
  Stages stage_of(problem.items.size(), 0);
  for (;;) {
    const bool uses_all =
        std::set<std::uint32_t>(stage_of.begin(), stage_of.end()).size() == devices;
    if (is_allowed(problem, stage_of) && (uses_all || !options.exact_stages)) {
      for (const std::vector<BalanceDevice>& order : orders) {
        double worst = 0;
        for (std::uint32_t stage = 0; stage < devices && worst < best; ++stage) {
          worst = std::max(worst, load_of(problem, options.comm, stage_of, stage, order[stage]));
        }
        best = std::min(best, worst);
      }
    }
    std::size_t i = 0;
    while (i < stage_of.size() && ++stage_of[i] == devices) stage_of[i++] = 0;
    if (i == stage_of.size()) return best;
  }
}

std::string described(const BalanceProblem& problem) {
  std::string text;
  for (std::uint32_t i = 0; i < problem.items.size(); ++i) {
    const BalanceItem& item = problem.items[i];
    text += std::to_string(i) + " time " + std::to_string(item.time) + " host " +
            std::to_string(item.host_time) + " bytes " + std::to_string(item.bytes) + " colour " +
            std::to_string(static_cast<int>(item.colour)) +
            (item.runs_on_accelerator ? "" : " host only") + "; value cost " +
            std::to_string(problem.nets[i].cost) + " bytes " +
            std::to_string(problem.nets[i].bytes) + (problem.nets[i].is_output ? " output" : "") +
            " to";
    for (const std::uint32_t next : problem.consumers.of(i)) text += " " + std::to_string(next);
    text += "\n";
  }
  for (const BalanceDevice& device : problem.devices) {
    text += device.name + " x" + std::to_string(device.count) + " memory " +
            std::to_string(device.memory) + "\n";
  }
  return text;
}

// The lower bound alone, which the exact search would hide.
double flow_bound_of(const BalanceProblem& problem, const BalanceOptions& options, double best) {
  const balance::Fleet fleet(problem, options.exact_stages);
  const Components tied = balance::tied_items(problem);
  const balance::Instance instance =
      balance::make_instance(problem, fleet, options.comm, tied.of, tied.count);
  return balance::flow_bound(instance, {.reached = 2 * best + 1, .flow_steps = 1'000'000})
      .objective;
}

void compare(const BalanceProblem& problem, const BalanceOptions& options) {
  const double best = brute_force(problem, options);
  const Result<BalanceResult> result = balance_stages(problem, options);
  INFO(described(problem) << "best " << best << " model " << static_cast<int>(options.comm)
                          << " exact " << options.exact_stages);
  if (!result) {
    INFO(result.error().message);
    CHECK(best == kUnlimited);
    return;
  }
  CHECK(result->objective == Approx(best).epsilon(1e-9));
  CHECK(result->bound <= best * (1 + 1e-9));
  CHECK((best == 0 || result->bound > 0));
  CHECK(flow_bound_of(problem, options, best) <= best * (1 + 1e-9));
  if (!options.exact_stages) CHECK(result->curve.back().objective == result->objective);
}

void compare_all(const Shape& shape, double memory, int problems, std::uint32_t seed) {
  Chance chance(seed);
  for (int i = 0; i < problems; ++i) {
    BalanceProblem problem = random_problem(chance, shape);
    if (shape.targets) add_targets(problem, chance);
    add_devices(problem, chance, shape, memory);
    for (const CommModel comm :
         {CommModel::serial, CommModel::overlap, CommModel::duplex, CommModel::none}) {
      compare(problem, {.comm = comm, .exact_stages = chance.one_in(4), .effort = Effort::low});
    }
  }
}

TEST_CASE("stages without limits are as good as the best of all assignments") {
  compare_all({}, kUnlimited, 25, 1);
}

TEST_CASE("stages of items that are tied are as good as the best of all assignments") {
  compare_all({.colours = true}, kUnlimited, 25, 2);
}

TEST_CASE("stages within memory caps are as good as the best of all assignments") {
  compare_all({.shared = true}, 9, 25, 3);
  compare_all({.colours = true, .shared = true}, 12, 15, 4);
}

TEST_CASE("stages with live activations are as good as the best of all assignments") {
  compare_all({.shared = true, .activations = true}, 22, 25, 5);
  compare_all({.colours = true, .activations = true}, 22, 15, 6);
}

TEST_CASE("stages on devices of two targets are as good as the best of all assignments") {
  compare_all({.in_order = true, .targets = true}, kUnlimited, 25, 21);
  compare_all({.host = true, .in_order = true, .targets = true}, kUnlimited, 40, 22);
  compare_all({.colours = true, .host = true, .in_order = true, .targets = true}, kUnlimited, 15,
              23);
  compare_all(
      {.shared = true, .activations = true, .host = true, .in_order = true, .targets = true}, 22,
      25, 24);
}

TEST_CASE("stages on different devices are as good as the best of all assignments") {
  compare_all({.host = true}, kUnlimited, 15, 7);
  compare_all({.in_order = true}, kUnlimited, 20, 8);
  compare_all({.activations = true, .in_order = true}, 18, 15, 9);
  compare_all({.shared = true, .host = true}, 8, 15, 10);
}

}  // namespace

}  // namespace cleave
