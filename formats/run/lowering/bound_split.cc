#include "formats/run/lowering/bound_split.h"

#include <algorithm>
#include <map>
#include <set>

#include "formats/models/model_file.h"

namespace cleave {
namespace {

// By name of the accelerator partition: the names of its nodes.
using NodeNames = std::map<std::string, std::set<std::string_view>>;

NodeNames names_of(const Graph& graph, const Partition& partition) {
  NodeNames names;
  for (const PartId part : partition.parts()) {
    if (!partition.is_acc(part)) continue;
    auto& own = names[partition.name(part)];
    for (const NodeId node : partition.nodes(part)) own.insert(graph.node(node).name);
  }
  return names;
}

NodeNames names_of(const Graph& graph, const LowerRound& round) {
  NodeNames names;
  for (const LoweredPart& part : round.parts) {
    auto& own = names[part.name];
    for (const NodeId node : part.nodes) own.insert(graph.node(node).name);
  }
  return names;
}

bool has_shape(const Graph& graph, ValueId value, const Sizes& sizes) {
  if (is_open(graph, value)) return false;
  const Shape shape = graph.shape(value);
  return std::equal(shape.begin(), shape.end(), sizes.begin(), sizes.end(),
                    [](Dim dim, std::int64_t size) { return dim.size() == size; });
}

std::map<std::string_view, ValueId> values_by_name(const Graph& graph) {
  std::map<std::string_view, ValueId> values;
  for (std::size_t i = 0; i < graph.value_count(); ++i) {
    values.emplace(graph.value(static_cast<ValueId>(i)).name, static_cast<ValueId>(i));
  }
  return values;
}

}  // namespace

std::optional<BoundSplit> compare_bound_split(const BoundSplitInput& input,
                                              const ShapeBindings& sizes, const LowerRound& round) {
  const auto bound = read_again(input.model, with_sizes(input.model.bindings, sizes));
  if (!bound) return std::nullopt;
  const Graph& graph = bound->graph;
  const OpFacts facts = op_facts(*bound);
  const auto split = split_graph({graph, input.lists, facts, input.link}, input.options);
  if (!split) return std::nullopt;
  BoundSplit result;
  result.is_same = names_of(graph, split->partition) == names_of(input.model.graph, round);
  const auto values = values_by_name(graph);
  std::set<ValueId> others;
  for (const LoweredPart& part : round.parts) {
    for (const PinnedShape& pinned : part.pinned) {
      const auto value = values.find(input.model.graph.value(pinned.input).name);
      const bool is_equal = value != values.end() && has_shape(graph, value->second, pinned.shape);
      if (!is_equal) others.insert(pinned.input);
    }
  }
  result.other_shapes.assign(others.begin(), others.end());
  return result;
}

}  // namespace cleave
