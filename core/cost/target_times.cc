#include "core/cost/target_times.h"

#include <algorithm>
#include <string>
#include <unordered_map>

#include "core/graph/op_key.h"

namespace cleave {
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

std::optional<double> estimated_us(const DeviceNumbers& device, const NodeCost& cost) {
  if (!device.flops_per_second || !device.bytes_per_second) return std::nullopt;
  if (!cost.flops || !cost.bytes) return std::nullopt;
  const double seconds =
      std::max(*cost.flops / *device.flops_per_second, *cost.bytes / *device.bytes_per_second);
  return seconds * 1e6 + device.node_us;
}

}  // namespace

DeviceTimes device_times(const PerNode<NodeCost>& costs, const Graph& graph,
                         const DeviceNumbers& device, const MeasuredTimes& measured) {
  DeviceTimes times{PerNode<double>(graph.node_count()),
                    PerNode<TimeOrigin>(graph.node_count(), TimeOrigin::unknown)};
  const auto set = [&](NodeId node, const std::optional<double>& us, TimeOrigin origin) {
    if (!us) return;
    times.us[node] = *us;
    times.origins[node] = origin;
  };
  CalibratedTimes calibrated(graph, device);
  for (const NodeId node : graph.nodes()) {
    if (!measured.empty() && measured[node] >= 0) {
      set(node, measured[node], TimeOrigin::measured);
    } else if (const OpTime* const time = calibrated.of(node); time != nullptr) {
      set(node, calibrated_us(*time, costs[node]), TimeOrigin::calibrated);
    } else {
      set(node, estimated_us(device, costs[node]), TimeOrigin::estimated);
    }
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
  const PerNode<NodeCost> costs = node_costs(graph);
  return {device_times(costs, graph, machine.cpu, on_cpu),
          device_times(costs, graph, machine.acc, acc_measured)};
}

}  // namespace cleave
