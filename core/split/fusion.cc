// Steps:
// 1. Tie every tensor-free node to its readers. Ties are symmetric: a tensor-free member brings its
//    readers, and a member brings its tensor-free producers.
// 2. A tied set with a tensor-free node of the accelerator set is a group.
// 3. node_groups.cc makes groups convex and free of cycles.
// 4. Groups with a member outside the set are dissolved.
#include "core/split/fusion.h"

#include <utility>

#include "core/split/node_groups.h"

namespace cleave {
namespace {

bool is_tensor_free(const Graph& graph, NodeId node) {
  const auto outputs = graph.outputs(node);
  for (const ValueId value : outputs) {
    if (graph.value(value).holds_tensor) return false;
  }
  return !outputs.empty();
}

}  // namespace

Fusions find_fusions(const Graph& graph, AccNodes acc, const FusionOptions& options) {
  if (options.skip) return without_groups(graph, std::move(acc));
  NodeGroups groups(graph);
  for (const NodeId node : graph.nodes()) {
    if (!is_tensor_free(graph, node)) continue;
    for (const NodeId reader : graph.readers(node)) groups.tie(node, reader);
    if (acc.nodes.contains(node)) groups.make_group(node);
  }
  return std::move(groups).settle(std::move(acc), ReasonCode::fusion_group);
}

}  // namespace cleave
