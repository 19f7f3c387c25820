// How: every tensor-free node is tied to its readers: the ties are symmetric, since a tensor-free
// member takes its readers along and a member takes its tensor-free producers along. A tied set
// with a tensor-free node of the accelerator set is a group; what makes groups convex and free of
// circles is in node_groups.cc. Groups with a member outside the set dissolve.
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
