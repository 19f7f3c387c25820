// Times on devices: specifications of targets, memory alive, calibration.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/base/quantity.h"
#include "core/base/words.h"
#include "core/cost/cost.h"
#include "core/graph/graph.h"

namespace cleave {

// ---- activation peak ----

std::uint64_t activation_peak(const Graph& graph, std::span<const NodeId> nodes) {
  std::unordered_map<NodeId, std::size_t> place;
  for (std::size_t i = 0; i < nodes.size(); ++i) place.emplace(nodes[i], i);
  std::unordered_set<ValueId> entering;
  std::uint64_t held = 0;                              // all the time
  std::vector<std::uint64_t> begins(nodes.size(), 0);  // by place: bytes from here on
  std::vector<std::uint64_t> ends(nodes.size(), 0);    // up to here
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    for (const Operand& operand : graph.operands(nodes[i])) {
      const ValueId value = operand.value;
      if (graph.is_parameter(value) || place.contains(graph.value(value).producer)) continue;
      if (entering.insert(value).second) held += value_bytes(graph, value).value_or(0);
    }
    for (const ValueId value : graph.outputs(nodes[i])) {
      if (graph.is_parameter(value)) continue;
      const std::uint64_t bytes = value_bytes(graph, value).value_or(0);
      bool leaves = graph.is_graph_output(value);
      std::size_t last = i;
      for (const NodeId reader : graph.users(value)) {
        const auto at = place.find(reader);
        leaves = leaves || at == place.end();
        if (at != place.end()) last = std::max(last, at->second);
      }
      if (leaves) {
        held += bytes;
      } else {
        begins[i] += bytes;
        ends[last] += bytes;
      }
    }
  }
  std::uint64_t now = held;
  std::uint64_t most = held;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    now += begins[i];
    most = std::max(most, now);
    now -= ends[i];
  }
  return most;
}

// ---- target spec ----

namespace {

std::optional<double> microseconds(std::string_view text) {
  const auto seconds = parse_duration(text);
  return seconds ? std::optional(*seconds * 1e6) : std::nullopt;
}

std::optional<std::size_t> whole(std::string_view text) {
  const auto number = parse_quantity(text);
  if (!number || !number->whole || !number->unit.empty()) return std::nullopt;
  return static_cast<std::size_t>(*number->whole);
}

// "2pJ/FLOP+30pJ/byte+0.1mJ/launch": one or more of the three.
std::optional<EnergyNumbers> energy(std::string_view text) {
  EnergyNumbers numbers;
  for (bool has_more = true; has_more;) {
    const std::size_t plus = text.find('+');
    const auto number = parse_quantity(trimmed(text.substr(0, plus)));
    if (!number) return std::nullopt;
    if (number->unit == "pJ/FLOP") {
      numbers.pj_per_flop = number->value;
    } else if (number->unit == "pJ/byte") {
      numbers.pj_per_byte = number->value;
    } else if (number->unit == "mJ/launch") {
      numbers.mj_per_launch = number->value;
    } else {
      return std::nullopt;
    }
    has_more = plus != std::string_view::npos;
    if (has_more) text.remove_prefix(plus + 1);
  }
  return numbers;
}

// Sets the field; false when the text is not a valid value.
using Setter = bool (*)(std::string_view text, TargetSpec& spec);

template <auto Field, auto Parse>
bool set(std::string_view text, TargetSpec& spec) {
  auto value = Parse(text);
  if (!value) return false;
  spec.*Field = *std::move(value);
  return true;
}

std::optional<double> bandwidth(std::string_view text) {
  const auto link = parse_link(text);
  return link ? std::optional(link->bytes_per_second) : std::nullopt;
}

std::optional<Duplex> duplex(std::string_view text) {
  if (text == "half") return Duplex::half;
  if (text == "full") return Duplex::full;
  return std::nullopt;
}

struct Key {
  std::string_view name;
  Setter set;
  std::string_view example;
  bool is_for_cpu;
};

constexpr std::array<Key, 9> kKeys = {{
    {"flops", set<&TargetSpec::flops_per_second, parse_flops_rate>, "4TFLOP/s", true},
    {"bandwidth", set<&TargetSpec::bytes_per_second, bandwidth>, "50GB/s", true},
    {"node", set<&TargetSpec::node_us, microseconds>, "2us", true},
    {"launch", set<&TargetSpec::launch_us, microseconds>, "100us", true},
    {"energy", set<&TargetSpec::energy, energy>, "2pJ/FLOP+30pJ/byte", true},
    {"memory", set<&TargetSpec::memory, parse_bytes>, "512MiB", false},
    {"max-subgraphs", set<&TargetSpec::max_subgraphs, whole>, "8", false},
    {"link", set<&TargetSpec::link, parse_link>, "gen4x4", false},
    {"duplex", set<&TargetSpec::duplex, duplex>, "half", false},
}};

// "flops, bandwidth, node": the keys that the target has.
std::string key_names(TargetName target) {
  std::string names;
  for (const Key& key : kKeys) {
    if (target == TargetName::cpu && !key.is_for_cpu) continue;
    names += (names.empty() ? "" : ", ") + std::string(key.name);
  }
  return names;
}

bool is_lower_word(std::string_view text) {
  return !text.empty() && text[0] >= 'a' && text[0] <= 'z' &&
         text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == text.npos;
}

}  // namespace

bool is_target_number(std::string_view name) {
  return std::ranges::any_of(kKeys, [&](const Key& key) { return key.name == name; });
}

Status<> set_target_number(std::string_view name, std::string_view value, TargetSpec& spec) {
  for (const Key& key : kKeys) {
    if (key.name != name || (spec.target == TargetName::cpu && !key.is_for_cpu)) continue;
    if (key.set(value, spec)) return Done{};
    return Error{in_quotes(value) + " is not a value of " + in_quotes(name) + ": write " +
                 std::string(name) + "=" + std::string(key.example)};
  }
  return Error{in_quotes(name) + " is not a number of target " +
               (spec.target == TargetName::cpu ? "cpu" : spec.name) + ": there are " +
               key_names(spec.target)};
}

Result<TargetSpec> parse_target(std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::string_view name = trimmed(text.substr(0, colon));
  if (!is_lower_word(name) || colon == std::string_view::npos) {
    return Error{
        in_quotes(text) +
        " names no target: write cpu:flops=500GFLOP/s,bandwidth=50GB/s or acc:launch=100us,..."};
  }
  TargetSpec spec;
  spec.target = name == "cpu" ? TargetName::cpu : TargetName::acc;
  if (spec.target == TargetName::acc) spec.name = name;
  std::vector<std::string_view> given;
  for (std::string_view rest = text.substr(colon + 1); !trimmed(rest).empty();) {
    const std::size_t comma = rest.find(',');
    const std::string_view part = trimmed(rest.substr(0, comma));
    const std::size_t equals = part.find('=');
    const std::string_view value =
        equals == std::string_view::npos ? "" : trimmed(part.substr(equals + 1));
    const std::string_view key = trimmed(part.substr(0, equals));
    auto set = set_target_number(key, value, spec);
    if (!set) return std::move(set).error();
    if (contains(given, key)) {
      return Error{in_quotes(text) + " states " + in_quotes(key) + " twice"};
    }
    given.push_back(key);
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
  }
  if (given.empty()) {
    return Error{in_quotes(text) + " states no number: there are " + key_names(spec.target)};
  }
  return spec;
}

Machine with_target(Machine machine, const TargetSpec& spec) {
  DeviceNumbers& device = spec.target == TargetName::cpu ? machine.cpu : machine.acc;
  if (spec.flops_per_second) device.flops_per_second = spec.flops_per_second;
  if (spec.bytes_per_second) device.bytes_per_second = spec.bytes_per_second;
  if (spec.energy) device.energy = spec.energy;
  if (spec.node_us) device.node_us = *spec.node_us;
  if (spec.launch_us && spec.target == TargetName::cpu) machine.cpu_launch_us = *spec.launch_us;
  if (spec.launch_us && spec.target == TargetName::acc) machine.launch_us = spec.launch_us;
  if (spec.memory) machine.acc_memory = spec.memory;
  if (spec.max_subgraphs) machine.most_acc_parts = spec.max_subgraphs;
  if (spec.duplex) machine.duplex = *spec.duplex;
  return machine;
}

// ---- target times ----

namespace {

// The lower median: with an even count the result is still a ratio that occurs.
double median(std::vector<double>& ratios) {
  const auto middle = ratios.begin() + static_cast<std::ptrdiff_t>((ratios.size() - 1) / 2);
  std::nth_element(ratios.begin(), middle, ratios.end());
  return *middle;
}

class GuessScales {
 public:
  GuessScales(const Graph& graph, const PerNode<double>& guesses, const PerNode<double>& measured)
      : graph_(graph) {
    std::vector<double> all;
    std::unordered_map<std::uint64_t, std::vector<double>> by_op;
    for (const NodeId node : graph.nodes()) {
      if (!(measured[node] > 0) || !(guesses[node] > 0)) continue;
      all.push_back(measured[node] / guesses[node]);
      by_op[op_of(node)].push_back(all.back());
    }
    if (all.empty()) return;
    of_all_ = median(all);
    for (auto& [op, ratios] : by_op) {
      if (ratios.size() >= kFewestOfAnOp) of_op_[op] = median(ratios);
    }
  }

  bool is_known() const { return of_all_ >= 0; }
  double of(NodeId node) const {
    const auto found = of_op_.find(op_of(node));
    return found != of_op_.end() ? found->second : of_all_;
  }

 private:
  std::uint64_t op_of(NodeId node) const {
    const Node& record = graph_.node(node);
    return std::uint64_t{index(record.domain)} << 32U | index(record.op);
  }

  const Graph& graph_;
  double of_all_ = -1;
  std::unordered_map<std::uint64_t, double> of_op_;
};

}  // namespace

ScaledTimes scale_guesses(const Graph& graph, const PerNode<double>& guesses,
                          const PerNode<double>& measured) {
  const GuessScales scales(graph, guesses, measured);
  ScaledTimes made{.times = guesses};
  for (const NodeId node : graph.nodes()) {
    if (measured[node] >= 0) {
      made.times[node] = measured[node];
    } else if (guesses[node] >= 0 && scales.is_known()) {
      made.times[node] = guesses[node] * scales.of(node);
      ++made.scaled;
    }
  }
  return made;
}

namespace {

// The calibrated time of an op; each op type is looked up once.
class CalibratedTimes {
 public:
  CalibratedTimes(const Graph& graph, const DeviceNumbers& device)
      : graph_(graph), device_(device) {}

  const OpTime* of(NodeId node) {
    if (device_.calibrated.empty()) return nullptr;
    const auto [known, is_new] = by_op_.try_emplace(index(graph_.node(node).op), nullptr);
    if (is_new) {
      known->second = entry(op_key(graph_.op(node)));
      if (known->second == nullptr) known->second = entry("");
    }
    return known->second;
  }

 private:
  const OpTime* entry(const std::string& op) const {
    const auto found = std::ranges::lower_bound(device_.calibrated, op, {}, &OpTime::op);
    return found != device_.calibrated.end() && found->op == op ? &*found : nullptr;
  }

  const Graph& graph_;
  const DeviceNumbers& device_;
  std::unordered_map<std::uint32_t, const OpTime*> by_op_;  // by the op's name
};

// A product is 0 when its factor is 0, whether or not the amount is known.
std::optional<double> product(double factor, const std::optional<double>& amount) {
  if (factor == 0) return 0;
  if (!amount) return std::nullopt;
  return factor * *amount;
}

std::optional<double> calibrated_us(const OpTime& time, const NodeCost& cost) {
  const auto computing = product(time.us_per_flop, cost.flops);
  const auto moving = product(time.us_per_byte, cost.bytes);
  if (!computing || !moving) return std::nullopt;
  return time.us + *computing + *moving;
}

// Rates for a device that has none of its own. Guesses made with them are then scaled to what was
// measured, so only their ratio counts: 100 FLOPs take as long as a byte, as on many accelerators.
constexpr double kGuessedFlops = 10e12;
constexpr double kGuessedBandwidth = 100e9;

std::optional<double> estimated_us(const DeviceNumbers& device, const NodeCost& cost) {
  if (!device.flops_per_second || !device.bytes_per_second) return std::nullopt;
  if (!cost.flops || !cost.bytes) return std::nullopt;
  const double seconds =
      std::max(*cost.flops / *device.flops_per_second, *cost.bytes / *device.bytes_per_second);
  return seconds * 1e6 + device.node_us;
}

// An estimate from the FLOPs, the bytes, or both, whichever are known; below 0 when neither is.
double guessed_us(const DeviceNumbers& device, const NodeCost& cost) {
  if (!cost.flops && !cost.bytes) return -1;
  const double computing = cost.flops.value_or(0) / device.flops_per_second.value_or(kGuessedFlops);
  const double moving =
      cost.bytes.value_or(0) / device.bytes_per_second.value_or(kGuessedBandwidth);
  return std::max(computing, moving) * 1e6 + device.node_us;
}

void set_time(DeviceTimes& times, NodeId node, const std::optional<double>& us, TimeOrigin origin) {
  if (!us) return;
  times.us[node] = *us;
  times.origins[node] = origin;
}

bool has_any(const MeasuredTimes& measured) {
  return std::ranges::any_of(measured, [](double us) { return us >= 0; });
}

// Gives the nodes that have no time yet a guess that is scaled to what was measured.
void add_scaled_guesses(const PerNode<NodeCost>& costs, const Graph& graph,
                        const DeviceNumbers& device, const MeasuredTimes& measured,
                        DeviceTimes& times) {
  PerNode<double> guesses(graph.node_count(), -1);
  for (const NodeId node : graph.nodes()) guesses[node] = guessed_us(device, costs[node]);
  const ScaledTimes scaled = scale_guesses(graph, guesses, measured);
  for (const NodeId node : graph.nodes()) {
    const bool is_open = times.origins[node] == TimeOrigin::unknown;
    if (!is_open || scaled.times[node] < 0 || (scaled.scaled == 0 && guesses[node] > 0)) continue;
    set_time(times, node, scaled.times[node], TimeOrigin::estimated);
  }
}

}  // namespace

DeviceTimes device_times(const PerNode<NodeCost>& costs, const Graph& graph,
                         const DeviceNumbers& device, const MeasuredTimes& measured) {
  DeviceTimes times{PerNode<double>(graph.node_count()),
                    PerNode<TimeOrigin>(graph.node_count(), TimeOrigin::unknown)};
  const bool is_measured = has_any(measured);
  CalibratedTimes calibrated(graph, device);
  for (const NodeId node : graph.nodes()) {
    if (is_measured && measured[node] >= 0) {
      set_time(times, node, measured[node], TimeOrigin::measured);
    } else if (const OpTime* const time = calibrated.of(node); time != nullptr) {
      set_time(times, node, calibrated_us(*time, costs[node]), TimeOrigin::calibrated);
    } else if (!is_measured) {
      set_time(times, node, estimated_us(device, costs[node]), TimeOrigin::estimated);
    }
  }
  if (is_measured) add_scaled_guesses(costs, graph, device, measured, times);
  return times;
}

double estimated_us(const DeviceTimes& times) {
  double sum = 0;
  for (std::size_t i = 0; i < times.us.size(); ++i) {
    const auto node = id_at<NodeId>(i);
    if (times.origins[node] == TimeOrigin::estimated) sum += times.us[node];
  }
  return sum;
}

DeviceTimes with_estimates_within(DeviceTimes times, double most_us) {
  const double sum = estimated_us(times);
  if (sum <= most_us) return times;
  for (std::size_t i = 0; i < times.us.size(); ++i) {
    const auto node = id_at<NodeId>(i);
    if (times.origins[node] == TimeOrigin::estimated) times.us[node] *= most_us / sum;
  }
  return times;
}

TargetTimes target_times(const Graph& graph, const Machine& machine,
                         const MeasuredTimes& cpu_measured, const MeasuredTimes& acc_measured) {
  MeasuredTimes on_cpu(graph.node_count(), -1);
  for (const NodeId node : graph.nodes()) {
    const MeasuredCost* const in_file = graph.measured_cost(node);
    if (in_file != nullptr) on_cpu[node] = in_file->time_us;
    if (!cpu_measured.empty() && cpu_measured[node] >= 0) on_cpu[node] = cpu_measured[node];
  }
  if (!has_rates(machine.cpu) && !has_rates(machine.acc) && !has_any(on_cpu) &&
      !has_any(acc_measured)) {
    const DeviceTimes unknown{PerNode<double>(graph.node_count()),
                              PerNode<TimeOrigin>(graph.node_count(), TimeOrigin::unknown)};
    return {unknown, unknown};
  }
  const PerNode<NodeCost> costs = node_costs(graph);
  return {device_times(costs, graph, machine.cpu, on_cpu),
          device_times(costs, graph, machine.acc, acc_measured)};
}

// ---- calibration ----
//
// Least squares with three unknowns that must not be below 0: for each of the seven non-empty
// subsets of the unknowns, the others are set to 0 and the normal equations are solved. The best
// solution without negative numbers wins.

namespace {

using Three = std::array<double, 3>;  // coefficients: constant, per FLOP, per byte
using Square = std::array<Three, 3>;

// The sums that the normal equations need.
class Fit {
 public:
  void add(const Kernel& kernel) {
    const Three x = {1, kernel.flops, kernel.bytes};
    const double weight = 1 / kernel.us;
    for (std::size_t i = 0; i < 3; ++i) {
      for (std::size_t j = 0; j < 3; ++j) products_[i][j] += weight * x[i] * x[j];
      targets_[i] += weight * x[i] * kernel.us;
    }
    ++count_;
  }

  std::size_t count() const { return count_; }

  OpTime solve(std::string op) const {
    Three best = {0, 0, 0};
    double best_error = 0;  // without the constant part, which all zeros has
    for (unsigned subset = 1; subset < 8; ++subset) {
      const auto found = solve_subset(subset);
      if (!found || *std::min_element(found->begin(), found->end()) < 0) continue;
      const double error = error_of(*found);
      if (error >= best_error) continue;
      best_error = error;
      best = *found;
    }
    return {std::move(op), best[0], best[1], best[2]};
  }

 private:
  // The sum of squares without the part that does not depend on x: x'Px - 2 x't.
  double error_of(const Three& x) const {
    double error = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      for (std::size_t j = 0; j < 3; ++j) error += x[i] * products_[i][j] * x[j];
      error -= 2 * x[i] * targets_[i];
    }
    return error;
  }

  // Gauss elimination of the unknowns in the subset, scaled to a diagonal of ones; nullopt when
  // they are not independent.
  std::optional<Three> solve_subset(unsigned subset) const {
    std::vector<std::size_t> unknowns;
    for (std::size_t i = 0; i < 3; ++i) {
      if ((subset >> i & 1U) == 0) continue;
      if (products_[i][i] <= 0) return std::nullopt;
      unknowns.push_back(i);
    }
    Square a{};
    Three b{};
    const std::size_t count = unknowns.size();
    const auto scale = [&](std::size_t i) {
      return std::sqrt(products_[unknowns[i]][unknowns[i]]);
    };
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t j = 0; j < count; ++j) {
        a[i][j] = products_[unknowns[i]][unknowns[j]] / scale(i) / scale(j);
      }
      b[i] = targets_[unknowns[i]] / scale(i);
    }
    for (std::size_t i = 0; i < count; ++i) {
      if (a[i][i] < 1e-9) return std::nullopt;
      for (std::size_t k = i + 1; k < count; ++k) {
        const double factor = a[k][i] / a[i][i];
        for (std::size_t j = i; j < count; ++j) a[k][j] -= factor * a[i][j];
        b[k] -= factor * b[i];
      }
    }
    Three x{};
    for (std::size_t i = count; i-- > 0;) {
      double rest = b[i];
      for (std::size_t j = i + 1; j < count; ++j) rest -= a[i][j] * x[unknowns[j]] * scale(j);
      x[unknowns[i]] = rest / a[i][i] / scale(i);
    }
    return x;
  }

  Square products_{};
  Three targets_{};
  std::size_t count_ = 0;
};

constexpr auto kNoModel = static_cast<std::uint32_t>(-1);

// Fitted to the kernels of all models but one.
std::vector<OpTime> times_without(const std::vector<Kernel>& kernels, std::uint32_t left_out) {
  Fit common;
  std::map<std::string, Fit> by_op;
  for (const Kernel& kernel : kernels) {
    if (kernel.us <= 0 || kernel.model == left_out) continue;
    common.add(kernel);
    by_op[kernel.op].add(kernel);
  }
  std::vector<OpTime> times;
  if (common.count() == 0) return times;
  times.push_back(common.solve(""));
  for (const auto& [op, fit] : by_op) {
    if (fit.count() >= kLeastKernelsOfOp && !op.empty()) times.push_back(fit.solve(op));
  }
  return times;
}

double told_us(const std::vector<OpTime>& times, const Kernel& kernel) {
  const auto found = std::ranges::lower_bound(times, kernel.op, {}, &OpTime::op);
  const OpTime& time = found != times.end() && found->op == kernel.op ? *found : times.front();
  return time.us + time.us_per_flop * kernel.flops + time.us_per_byte * kernel.bytes;
}

// 2 both for twice as much and for half.
double as_factor(double ratio) { return ratio > 0 ? std::max(ratio, 1 / ratio) : HUGE_VAL; }

double median_of_samples(std::vector<double> numbers) {
  if (numbers.empty()) return 1;
  const auto middle = numbers.begin() + static_cast<std::ptrdiff_t>(numbers.size() / 2);
  std::nth_element(numbers.begin(), middle, numbers.end());
  return *middle;
}

LeftOutError left_out_error(const std::vector<Kernel>& kernels, std::size_t models) {
  LeftOutError error;
  std::vector<double> node_factors;
  std::vector<double> model_factors;
  for (std::uint32_t model = 0; model < models; ++model) {
    const std::vector<OpTime> times = times_without(kernels, model);
    double told = 0;
    double measured = 0;
    for (const Kernel& kernel : kernels) {
      if (kernel.model != model || kernel.us <= 0 || times.empty()) continue;
      const double us = told_us(times, kernel);
      told += us;
      measured += kernel.us;
      node_factors.push_back(as_factor(us / kernel.us));
    }
    error.model_factors.push_back(measured > 0 ? told / measured : 1);
    if (measured > 0) model_factors.push_back(as_factor(told / measured));
  }
  error.node_factor = median_of_samples(std::move(node_factors));
  error.model_factor = median_of_samples(std::move(model_factors));
  return error;
}

}  // namespace

Calibration calibrate(const std::vector<Kernel>& kernels, std::size_t models) {
  Calibration found;
  found.times = times_without(kernels, kNoModel);
  found.kernels = static_cast<std::size_t>(
      std::ranges::count_if(kernels, [](const Kernel& kernel) { return kernel.us > 0; }));
  found.models = models;
  if (models > 1) found.error = left_out_error(kernels, models);
  return found;
}

}  // namespace cleave
