#include "core/devices/graph_problem.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace cleave {
namespace {

class GraphProblemMaker {
 public:
  explicit GraphProblemMaker(const GraphProblemInput& input) : input_(input), graph_(input.graph) {}

  GraphProblem run() && {
    add_targets();
    add_units();
    for (const ValueId value : graph_.inputs()) add_value(value);
    for (const NodeId node : graph_.nodes()) {
      for (const ValueId value : graph_.outputs(node)) add_value(value);
      add_order(node);
    }
    add_weights();
    return std::move(made_);
  }

 private:
  void add_targets() {
    for (const Machine& machine : input_.machines) {
      const double of_byte = 1e6 / machine.link_bytes_per_second;
      DeviceTarget target{.down_cost = of_byte, .up_cost = of_byte, .duplex = machine.duplex};
      target.launch_cost = machine.launch_us.value_or(0);
      target.memory = machine.acc_memory;
      if (machine.most_acc_parts) target.most_parts = *machine.most_acc_parts;
      made_.problem.targets.push_back(target);
    }
    made_.problem.links = input_.links;
    made_.problem.residency = input_.residency;
  }

  bool accepts(std::size_t device, NodeId node) const {
    if (device < input_.accepted.size()) return input_.accepted[device].contains(node);
    return input_.required == nullptr || !input_.required->contains(node);
  }

  std::size_t device_count() const { return input_.accepted.size() + 1; }

  std::optional<double> time_of(std::size_t device, NodeId node) const {
    const bool is_host = device == input_.accepted.size();
    return (is_host ? input_.times.cpu : input_.times.on_target(device)).of(node);
  }

  bool has_all_times(NodeId node) const {
    for (std::size_t device = 0; device < device_count(); ++device) {
      if (accepts(device, node) && !time_of(device, node)) return false;
    }
    return true;
  }

  void add_units() {
    const std::size_t count = device_count();
    std::vector<double>& costs = made_.problem.unit_costs;
    costs.assign(input_.unit_count * count, 0);
    std::vector<double> on_host(input_.unit_count, 0);
    for (const NodeId node : graph_.nodes()) {
      const std::uint32_t unit = input_.unit_of[node];
      const bool is_known = has_all_times(node);
      if (!is_known) ++made_.unknown_times;
      for (std::size_t device = 0; device < count; ++device) {
        double& cost = costs[unit * count + device];
        if (!accepts(device, node)) cost = DeviceProblem::kRefused;
        if (cost >= 0 && is_known) cost += *time_of(device, node);
      }
      if (is_known) on_host[unit] += time_of(count - 1, node).value_or(0);
    }
    for (std::uint32_t unit = 0; unit < input_.unit_count; ++unit) {
      double* const of_unit = &costs[unit * count];
      const bool is_refused =
          std::all_of(of_unit, of_unit + count, [](double cost) { return cost < 0; });
      if (is_refused) of_unit[count - 1] = on_host[unit];
    }
  }

  // The nodes that run after it without reading from it.
  void add_order(NodeId node) {
    const std::uint32_t unit = input_.unit_of[node];
    readers_.clear();
    for (const NodeId follower : graph_.followers(node)) {
      if (input_.unit_of[follower] != unit) readers_.push_back(input_.unit_of[follower]);
    }
    if (readers_.empty()) return;
    add_readers();
    made_.problem.producer.push_back(unit);
    made_.problem.host_reads.push_back(0);
    made_.problem.bytes.push_back(0);
  }

  // Each once.
  void add_readers() {
    std::sort(readers_.begin(), readers_.end());
    readers_.erase(std::unique(readers_.begin(), readers_.end()), readers_.end());
    for (const std::uint32_t reader : readers_) made_.problem.readers.add(reader);
    made_.problem.readers.end_list();
  }

  void add_value(ValueId value) {
    const Value& record = graph_.value(value);
    DeviceProblem& problem = made_.problem;
    const bool is_input = record.kind == ValueKind::input;
    const std::uint32_t maker = is_input ? DeviceProblem::kHost : input_.unit_of[record.producer];
    readers_.clear();
    for (const NodeId user : graph_.users(value)) {
      if (input_.unit_of[user] != maker) readers_.push_back(input_.unit_of[user]);
    }
    if (is_input && readers_.empty()) return;
    add_readers();
    problem.producer.push_back(maker);
    problem.host_reads.push_back(!is_input && graph_.is_graph_output(value) ? 1 : 0);
    const auto bytes = value_bytes(graph_, value);
    if (!bytes && record.is_tensor()) ++made_.unknown_sizes;
    problem.bytes.push_back(static_cast<double>(bytes.value_or(0)));
  }

  // What the units read of parameters; another name for one is that one.
  void add_weights() {
    DeviceProblem& problem = made_.problem;
    const std::uint32_t first =
        index(graph_.parameters().empty() ? ValueId{} : graph_.parameters()[0]);
    std::vector<std::vector<std::uint32_t>> read(input_.unit_count);
    const auto add = [&](NodeId node, ValueId parameter) {
      read[input_.unit_of[node]].push_back(index(graph_.canonical_parameter(parameter)) - first);
    };
    for (const NodeId node : graph_.nodes()) {
      for (const Operand& operand : graph_.operands(node)) {
        if (graph_.is_parameter(operand.value)) add(node, operand.value);
      }
      for (const ValueId parameter : graph_.module_parameters(node)) add(node, parameter);
    }
    for (auto& weights : read) {
      std::sort(weights.begin(), weights.end());
      weights.erase(std::unique(weights.begin(), weights.end()), weights.end());
      for (const std::uint32_t weight : weights) problem.weights.add(weight);
      problem.weights.end_list();
    }
    for (const ValueId parameter : graph_.parameters()) {
      problem.weight_bytes.push_back(
          static_cast<double>(value_bytes(graph_, parameter).value_or(0)));
    }
  }

  const GraphProblemInput& input_;
  const Graph& graph_;
  GraphProblem made_;
  std::vector<std::uint32_t> readers_;  // of the current value
};

}  // namespace

GraphProblem graph_problem(const GraphProblemInput& input) {
  return GraphProblemMaker(input).run();
}

std::vector<UnitWork> unit_work(const GraphProblemInput& input, const PerNode<NodeCost>& costs) {
  std::vector<UnitWork> work(input.unit_count);
  for (const NodeId node : input.graph.nodes()) {
    UnitWork& of_unit = work[input.unit_of[node]];
    of_unit.flops += costs[node].flops.value_or(0);
    of_unit.bytes += costs[node].bytes.value_or(0);
  }
  return work;
}

}  // namespace cleave
