#include "core/measures/runtime_groups.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/graph/random_ops.h"
#include "core/graph/shape.h"
#include "core/support/support.h"

namespace cleave {
namespace {

bool has_known_shape(const Graph& graph, ValueId value) {
  if (!graph.has_rank(value)) return false;
  const Shape shape = graph.shape(value);
  return std::all_of(shape.begin(), shape.end(), [](Dim dim) { return dim.is_fixed(); });
}

// The nodes of the main graph that the runtime computes before the model runs, as they read only constants, known
// shapes, and what is computed so. Linear.
NodeSet folded_nodes(const Graph& graph) {
  NodeSet folded(graph.node_count());
  const auto is_folded = [&](ValueId value) {
    const NodeId maker = graph.value(value).producer;
    return graph.nodes().contains(maker) && folded.contains(maker);
  };
  for (const NodeId node : graph.nodes()) {
    const auto operands = graph.operands(node);
    if (operands.empty() || !graph.body_nodes(node).empty()) continue;
    if (graph.op(node) == "Shape") {
      const ValueId read = operands.front().value;
      if (is_folded(read) || has_known_shape(graph, read)) folded.insert(node);
      continue;
    }
    bool has_folded = false;
    const bool is_known =
        std::all_of(operands.begin(), operands.end(), [&](const Operand& operand) {
          has_folded = has_folded || is_folded(operand.value);
          return is_folded(operand.value) || graph.is_parameter(operand.value);
        });
    if (is_known && has_folded && !is_random_op(graph.op(node))) folded.insert(node);
  }
  return folded;
}

class Grouping {
 public:
  Grouping(const Graph& graph, const NodeSet& supported, std::span<const SupportList> lists,
           const OpFacts& facts)
      : graph_(graph),
        supported_(supported),
        lists_(lists),
        facts_(facts),
        made_in_(graph.value_count()) {}

  RuntimeGroups run() {
    const NodeSet folded = folded_nodes(graph_);
    for (const NodeId node : graph_.nodes()) {
      if (folded.contains(node)) continue;
      const NodeId host = facts_.runtime_host(graph_, node);
      if (host != kNone<NodeId>) {
        pass_on(node, host);
      } else if (const auto body = body_of(node)) {
        add_body(node, *body);
      } else {
        const Made made = add(latest(graph_, node, made_in_), supported_.contains(node));
        for (const ValueId output : graph_.outputs(node)) made_in_[output] = made;
      }
    }
    groups_.partitions =
        static_cast<std::size_t>(std::count(is_group_.begin(), is_group_.end(), std::uint8_t{1}));
    return groups_;
  }

 private:
  // The first group that what reads a value may join, where the provider takes the reader, or where it does not.
  struct Made {
    std::uint32_t by_provider = 0, by_others = 0;
  };

  static Made later(Made a, Made b) {
    return {std::max(a.by_provider, b.by_provider), std::max(a.by_others, b.by_others)};
  }

  static Made latest(const Graph& graph, NodeId node, const PerValue<Made>& made_in) {
    Made latest;
    for (const Operand& operand : graph.operands(node)) {
      latest = later(latest, made_in[operand.value]);
    }
    return latest;
  }

  // A node whose inputs are made so. A node of another provider is ready for the same group, and what it makes;
  // if it reads of the group it waits for the group's end.
  Made add(Made read, bool is_accepted) {
    ++groups_.nodes;
    if (!is_accepted) return {read.by_others, read.by_others};
    ++groups_.accepted;
    const std::uint32_t group = read.by_provider;
    if (is_group_.size() <= group) is_group_.resize(group + 1);
    is_group_[group] = 1;
    return {group, group + 1};
  }

  // The host makes the node's outputs. A host that comes later reads what the node passes on.
  void pass_on(NodeId node, NodeId host) {
    if (index(host) > index(node)) return;
    const Made made = made_in_[graph_.outputs(host)[0]];
    for (const ValueId output : graph_.outputs(node)) made_in_[output] = made;
  }

  std::shared_ptr<const FunctionBody> body_of(NodeId node) const {
    return facts_.function_body ? facts_.function_body(graph_, node) : nullptr;
  }

  void add_body(NodeId node, const FunctionBody& body) {
    const bool is_accepted = supported_.contains(node);
    std::optional<Support> verdict;
    if (!is_accepted)
      verdict = match_support_within(body.graph, lists_, body.facts, kMostRuleChecks);
    PerValue<Made> made_in(body.graph.value_count());
    const Made read = latest(graph_, node, made_in_);
    for (const ValueId input : body.graph.inputs()) made_in[input] = read;
    Made last;
    for (const NodeId inner : body.graph.nodes()) {
      const Made made = add(latest(body.graph, inner, made_in),
                            is_accepted || (verdict && verdict->supported.contains(inner)));
      for (const ValueId output : body.graph.outputs(inner)) {
        made_in[output] = made;
        if (body.graph.is_graph_output(output)) last = later(last, made);
      }
    }
    for (const ValueId output : graph_.outputs(node)) made_in_[output] = last;
  }

  const Graph& graph_;
  const NodeSet& supported_;
  std::span<const SupportList> lists_;
  const OpFacts& facts_;
  PerValue<Made> made_in_;
  std::vector<std::uint8_t> is_group_;  // by number: whether the provider has nodes in it
  RuntimeGroups groups_;
};

}  // namespace

std::optional<RuntimeGroups> runtime_groups(const Graph& graph, const NodeSet& supported,
                                            std::span<const SupportList> lists,
                                            const OpFacts& facts) {
  const bool is_asked = std::any_of(lists.begin(), lists.end(), [](const SupportList& list) {
    return list.view == GraphView::onnxruntime;
  });
  if (!is_asked || !facts.runtime_host) return std::nullopt;
  return Grouping(graph, supported, lists, facts).run();
}

}  // namespace cleave
