#include "core/lowering/descent.h"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

namespace cleave {
namespace {

constexpr auto kRandomOps =
    std::to_array<std::string_view>({"Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike",
                                     "RandomUniform", "RandomUniformLike"});

constexpr auto kDataShapedOps = std::to_array<std::string_view>(
    {"Compress", "If", "Loop", "NonMaxSuppression", "NonZero", "Scan", "StringSplit", "Unique"});

bool is_one_of(std::span<const std::string_view> ops, std::string_view op) {
  return std::find(ops.begin(), ops.end(), op) != ops.end();
}

// True for a Dropout with the third input, training_mode.
bool is_training(const Graph& graph, NodeId node) {
  return graph.op(node) == "Dropout" && graph.operands(node).size() > 2;
}

// The values made by a source, or by a node that reads such a value. One pass is enough, since
// nodes are in topological order.
template <class IsSource>
std::vector<bool> descendants(const Graph& graph, IsSource is_source) {
  std::vector<bool> descends(graph.value_count(), false);
  for (const NodeId node : graph.nodes()) {
    bool does = is_source(node);
    for (const Operand& operand : graph.operands(node)) {
      does = does || descends[index(operand.value)];
    }
    if (!does) continue;
    for (const ValueId output : graph.outputs(node)) descends[index(output)] = true;
  }
  return descends;
}

}  // namespace

std::vector<bool> random_values(const Graph& graph) {
  return descendants(graph, [&](NodeId node) {
    return is_one_of(kRandomOps, graph.op(node)) || is_training(graph, node);
  });
}

std::vector<bool> values_shaped_by_data(const Graph& graph) {
  return descendants(graph, [&](NodeId node) { return is_one_of(kDataShapedOps, graph.op(node)); });
}

}  // namespace cleave
