#include "core/split/node_ties.h"

#include <algorithm>

namespace cleave {
namespace {

std::string quote(std::string_view text) { return '"' + std::string(text) + '"'; }

Error divided(const Graph& graph, const Partition& partition, const std::vector<NodeId>& nodes,
              NodeId other) {
  constexpr std::size_t kMostNamed = 6;
  std::string names;
  for (std::size_t i = 0; i < std::min(nodes.size(), kMostNamed); ++i) {
    names += (i == 0 ? "" : ", ") + quote(graph.node(nodes[i]).name);
  }
  if (nodes.size() > kMostNamed) names += ", ...";
  return {"nodes that write or view the same memory are in several partitions, " +
              quote(partition.name(partition.part_of[nodes.front()])) + " and " +
              quote(partition.name(partition.part_of[other])) + ": " + names,
          other};
}

}  // namespace

Status<> check_whole(const Graph& graph, const Partition& partition, const NodeTies& ties) {
  for (const std::vector<NodeId>& nodes : ties.whole) {
    const PartId part = partition.part_of[nodes.front()];
    const auto other = std::find_if(nodes.begin(), nodes.end(),
                                    [&](NodeId node) { return partition.part_of[node] != part; });
    if (other == nodes.end()) continue;
    Error error = divided(graph, partition, nodes, *other);
    if (!ties.way_out.empty()) error.notes.push_back(ties.way_out);
    return error;
  }
  return Done{};
}

}  // namespace cleave
