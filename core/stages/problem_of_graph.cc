// Steps:
// 1. set the cost of each node by what is balanced;
// 2. tie markers to a neighbour, since they are removed;
// 3. give each parameter to the node that reads it, or share it among several;
// 4. add a net for each value.
#include "core/stages/problem_of_graph.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/cost/cost.h"
#include "core/cost/target_times.h"
#include "core/graph/shape.h"
#include "core/stages/stages.h"

namespace cleave {
namespace {

constexpr double kMicroseconds = 1e6;
constexpr double kMostCost = 1e30;  // of an item or net, so that no sum is infinite

// Finds the parameters of the file that a node reads, also through constants that compute on them, by
// the ids that bytes are counted by: what a stage with the node has to hold. Weights that are stored in
// fewer bits than they are used in count as they are stored.
class ParametersOfNode {
 public:
  explicit ParametersOfNode(const Graph& graph) : graph_(graph), met_in_(graph.value_count(), 0) {}

  // Each once. Linear in the constants behind the node, all of which a stage with it has, too. Valid
  // until the next call.
  const std::vector<ValueId>& of(NodeId node) {
    found_.clear();
    ++walk_;
    for (const Operand& operand : graph_.operands(node)) meet(operand.value);
    for (const ValueId value : graph_.module_parameters(node)) meet(value);
    while (!open_.empty()) {
      const ValueId value = open_.back();
      open_.pop_back();
      for (const Operand& operand : graph_.operands(graph_.value(value).producer)) {
        meet(operand.value);
      }
    }
    return found_;
  }

 private:
  void meet(ValueId read) {
    if (!graph_.is_parameter(read)) return;
    const ValueId value = graph_.canonical_parameter(read);
    if (std::exchange(met_in_[value], walk_) == walk_) return;
    const NodeId maker = graph_.value(value).producer;
    const bool is_stored = maker == kNone<NodeId> || graph_.operands(maker).empty();
    (is_stored ? found_ : open_).push_back(value);
  }

  const Graph& graph_;
  std::uint32_t walk_ = 0;
  PerValue<std::uint32_t> met_in_;  // the last walk that met it
  std::vector<ValueId> found_, open_;
};

double elements_of(const Graph& graph, ValueId value) {
  if (!graph.value(value).is_tensor() || !graph.has_rank(value)) return 0;
  return static_cast<double>(element_count(graph.shape(value)).value_or(0));
}

const char* unit_of(BalanceBy by) {
  switch (by) {
    case BalanceBy::time:
      return "us";
    case BalanceBy::flops:
      return "FLOP";
    case BalanceBy::params:
      return "parameters";
    case BalanceBy::bytes:
      return "bytes";
    case BalanceBy::nodes:
      break;
  }
  return "nodes";
}

class GraphBalanceMaker {
 public:
  GraphBalanceMaker(const Graph& graph, const GraphCostOptions& options)
      : graph_(graph),
        options_(options),
        parameters_(graph),
        first_reader_(graph.value_count(), kNone<NodeId>),
        is_shared_(graph.value_count(), 0),
        number_(graph.value_count(), kNoItem),
        together_(graph.node_count()) {
    for (std::uint32_t i = 0; i < together_.size(); ++i) together_[i] = i;
  }

  GraphBalance make() && {
    made_.problem.items.resize(graph_.node_count());
    add_costs();
    tie_markers();
    tie_sets();
    add_colours();
    add_parameters();
    add_nets();
    made_.problem.successors = with_ties(successors_of_nets(made_.problem));
    const Graph& graph = graph_;
    made_.problem.item_name = [&graph](std::uint32_t item) {
      return std::string(graph.node(NodeId{item}).name);
    };
    made_.problem.unit = unit_of(options_.by);
    return std::move(made_);
  }

 private:
  BalanceItem& item(NodeId node) { return made_.problem.items[index(node)]; }
  bool is_marker(NodeId node) const { return is_stage_marker(graph_, node); }

  void add_costs() {
    switch (options_.by) {
      case BalanceBy::time:
        return add_times();
      case BalanceBy::flops:
        return add_flops();
      case BalanceBy::bytes:
        return add_bytes();
      case BalanceBy::nodes:
        for (const NodeId node : graph_.nodes()) item(node).time = is_marker(node) ? 0 : 1;
        return;
      case BalanceBy::params:
        return;  // counted with the parameters
    }
  }

  void add_times() {
    const PerNode<NodeCost> costs = node_costs(graph_);
    PerNode<double> guesses(graph_.node_count(), -1), measured(graph_.node_count(), -1);
    for (const NodeId node : graph_.nodes()) {
      if (is_marker(node)) continue;
      measured[node] = measured_time(node);
      guesses[node] = estimated_time(costs[node]);
      if (measured[node] >= 0) {
        ++made_.measured;
      } else if (!costs[node].flops && !costs[node].bytes) {
        ++made_.unknown_costs;
      }
    }
    take_times(scale_guesses(graph_, guesses, measured), measured);
  }

  void take_times(const ScaledTimes& times, const PerNode<double>& measured) {
    double all = 0, known = 0;
    for (const NodeId node : graph_.nodes()) {
      if (is_marker(node)) continue;
      item(node).time = std::min(std::max(times.times[node], 0.0), kMostCost);
      all += item(node).time;
      if (measured[node] >= 0) known += item(node).time;
    }
    made_.scaled = times.scaled;
    made_.measured_share = all > 0 ? known / all : 0;
  }

  // A marker does no work and is removed: it stays with the node before it, or with the first node.
  void tie_markers() {
    NodeId neighbour = kNone<NodeId>;
    for (const NodeId node : graph_.nodes()) {
      if (neighbour == kNone<NodeId> && !is_marker(node)) neighbour = node;
    }
    if (neighbour == kNone<NodeId>) return;
    for (const NodeId node : graph_.nodes()) {
      if (!is_marker(node)) {
        neighbour = node;
      } else {
        join(node, neighbour);
      }
    }
  }

  void tie_sets() {
    if (options_.ties == nullptr) return;
    for (const std::vector<NodeId>& nodes : options_.ties->whole) {
      for (const NodeId node : nodes) join(nodes.front(), node);
    }
  }

  // Union-find over the items that stay together.
  std::uint32_t root(std::uint32_t item) {
    while (together_[item] != item) item = together_[item] = together_[together_[item]];
    return item;
  }
  void join(NodeId a, NodeId b) {
    has_ties_ = true;
    together_[root(index(a))] = root(index(b));
  }

  void add_colours() {
    if (!has_ties_) return;
    std::vector<std::uint32_t> sizes(together_.size(), 0);
    for (std::uint32_t i = 0; i < together_.size(); ++i) ++sizes[root(i)];
    for (std::uint32_t i = 0; i < together_.size(); ++i) {
      if (sizes[root(i)] > 1) made_.problem.items[i].colour = root(i);
    }
  }

  // `edges`, and from each node to those that the ties put after it.
  Adjacency with_ties(Adjacency edges) const {
    if (options_.ties == nullptr || options_.ties->order.empty()) return edges;
    std::vector<std::vector<std::uint32_t>> after(edges.count());
    for (const auto& [before, then, memory] : options_.ties->order) {
      after[index(before)].push_back(index(then));
    }
    Adjacency all;
    for (std::uint32_t item = 0; item < edges.count(); ++item) {
      for (const std::uint32_t next : edges.of(item)) all.add(next);
      for (const std::uint32_t next : after[item]) all.add(next);
      all.end_list();
    }
    return all;
  }

  double measured_time(NodeId node) const {
    if (options_.measured != nullptr && (*options_.measured)[node] >= 0) {
      return (*options_.measured)[node];
    }
    const MeasuredCost* const cost = graph_.measured_cost(node);
    return cost != nullptr ? cost->time_us : -1;
  }

  double estimated_time(const NodeCost& cost) const {
    const double computing = cost.flops.value_or(0) / options_.device_flops;
    const double moving = cost.bytes.value_or(0) / options_.device_bandwidth;
    return std::min(std::max(computing, moving) * kMicroseconds, kMostCost);
  }

  void add_flops() {
    const PerNode<std::optional<double>> flops = node_flops(graph_);
    for (const NodeId node : graph_.nodes()) {
      if (is_marker(node)) continue;
      if (!flops[node]) ++made_.unknown_costs;
      item(node).time = std::min(flops[node].value_or(0), kMostCost);
    }
  }

  void add_bytes() {
    const PerNode<NodeCost> costs = node_costs(graph_);
    for (const NodeId node : graph_.nodes()) {
      if (is_marker(node)) continue;
      if (!costs[node].bytes) ++made_.unknown_costs;
      item(node).time = std::min(costs[node].bytes.value_or(0), kMostCost);
    }
  }

  // A parameter read by one node belongs to it; the others are shared.
  void add_parameters() {
    find_first_readers();
    Adjacency shared;  // by node
    for (const NodeId node : graph_.nodes()) {
      for (const ValueId value : parameters_.of(node)) {
        if (first_reader_[value] == node) add_first_read(node, value);
        if (is_shared_[value] != 0) shared.add(shared_number(value));
      }
      shared.end_list();
    }
    made_.problem.shared_users = reversed(shared, made_.problem.shared_bytes.size());
  }

  void find_first_readers() {
    for (const NodeId node : graph_.nodes()) {
      for (const ValueId value : parameters_.of(node)) {
        if (first_reader_[value] == kNone<NodeId>) first_reader_[value] = node;
        if (first_reader_[value] != node) is_shared_[value] = 1;
      }
    }
  }

  void add_first_read(NodeId node, ValueId value) {
    if (options_.by == BalanceBy::params && graph_.value(value).producer == kNone<NodeId>) {
      item(node).time += elements_of(graph_, value);
    }
    if (is_shared_[value] == 0) item(node).bytes += parameter_bytes(value);
  }

  double parameter_bytes(ValueId value) const {
    const double bytes = static_cast<double>(value_bytes(graph_, value).value_or(0));
    const bool is_constant = graph_.value(value).producer != kNone<NodeId>;
    return std::min(is_constant ? bytes : bytes * options_.optimizer_factor, kMostCost);
  }

  std::uint32_t shared_number(ValueId value) {
    std::vector<double>& shared = made_.problem.shared_bytes;
    if (number_[value] == kNoItem) {
      number_[value] = static_cast<std::uint32_t>(shared.size());
      shared.push_back(parameter_bytes(value));
    }
    return number_[value];
  }

  void add_nets() {
    for (const ValueId input : graph_.inputs()) add_net(input, kNoItem);
    for (const NodeId node : graph_.nodes()) {
      for (const ValueId output : graph_.outputs(node)) add_net(output, index(node));
    }
  }

  // A value without readers only takes memory.
  void add_net(ValueId value, std::uint32_t producer) {
    const auto readers = graph_.users(value);
    const auto bytes = value_bytes(graph_, value);
    if (!bytes && graph_.value(value).is_tensor() && !readers.empty()) ++made_.unknown_sizes;
    BalanceNet net{.producer = producer,
                   .bytes = static_cast<double>(bytes.value_or(0)),
                   .is_output = graph_.is_graph_output(value)};
    if (options_.by == BalanceBy::time && producer != kNoItem) {
      net.cost = std::min(net.bytes / options_.link_bandwidth * kMicroseconds, kMostCost);
    }
    made_.problem.nets.push_back(net);
    for (const NodeId reader : readers) made_.problem.consumers.add(index(reader));
    made_.problem.consumers.end_list();
  }

  const Graph& graph_;
  const GraphCostOptions& options_;
  GraphBalance made_;
  ParametersOfNode parameters_;
  // By parameter:
  PerValue<NodeId> first_reader_;
  PerValue<std::uint8_t> is_shared_;
  PerValue<std::uint32_t> number_;  // among the shared ones
  // By item:
  std::vector<std::uint32_t> together_;  // union-find
  bool has_ties_ = false;
};

}  // namespace

GraphBalance balance_problem_of(const Graph& graph, const GraphCostOptions& options) {
  return GraphBalanceMaker(graph, options).make();
}

}  // namespace cleave
