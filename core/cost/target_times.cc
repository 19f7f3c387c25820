#include "core/cost/target_times.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/graph/op_name.h"

namespace cleave {
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
    const auto found =
        std::lower_bound(device_.calibrated.begin(), device_.calibrated.end(), op,
                         [](const OpTime& time, const std::string& key) { return time.op < key; });
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
// measured.
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
  return std::any_of(measured.begin(), measured.end(), [](double us) { return us >= 0; });
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

}  // namespace cleave
