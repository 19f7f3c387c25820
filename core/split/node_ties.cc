#include "core/split/node_ties.h"

#include <algorithm>
#include <utility>

#include "core/split/node_groups.h"

namespace cleave {
namespace {

std::string quote(std::string_view text) { return '"' + std::string(text) + '"'; }

Error divided(const Graph& graph, const Partition& partition, const std::vector<NodeId>& nodes,
              NodeId other, std::string_view cause) {
  constexpr std::size_t kMostNamed = 6;
  std::string names;
  for (std::size_t i = 0; i < std::min(nodes.size(), kMostNamed); ++i) {
    names += (i == 0 ? "" : ", ") + quote(graph.node(nodes[i]).name);
  }
  if (nodes.size() > kMostNamed) names += ", ...";
  return {std::string(cause) + " are in several partitions, " +
              quote(partition.name(partition.part_of[nodes.front()])) + " and " +
              quote(partition.name(partition.part_of[other])) + ": " + names,
          other};
}

}  // namespace

bool divides_a_set(std::span<const std::vector<NodeId>> sets, const PerNode<PartId>& part_of) {
  return std::any_of(sets.begin(), sets.end(), [&](const std::vector<NodeId>& nodes) {
    return std::any_of(nodes.begin(), nodes.end(),
                       [&](NodeId node) { return part_of[node] != part_of[nodes.front()]; });
  });
}

Fusions keep_sets_whole(const Graph& graph, std::span<const std::vector<NodeId>> sets,
                        Fusions fusions) {
  NodeGroups joined(graph);
  for (std::size_t i = 0; i < fusions.group_count(); ++i) {
    joined.add_group(fusions.group(id_at<GroupId>(i)));
  }
  for (const std::vector<NodeId>& nodes : sets) joined.add_group(nodes);
  return std::move(joined).settle(std::move(fusions.acc), ReasonCode::shared_memory,
                                  NodeGroups::Incomplete::keep);
}

Status<> check_whole(const Graph& graph, const Partition& partition, const NodeTies& ties) {
  for (std::size_t i = 0; i < ties.whole.size(); ++i) {
    const std::vector<NodeId>& nodes = ties.whole[i];
    const PartId part = partition.part_of[nodes.front()];
    const auto other = std::find_if(nodes.begin(), nodes.end(),
                                    [&](NodeId node) { return partition.part_of[node] != part; });
    if (other == nodes.end()) continue;
    const bool has_cause = i < ties.causes.size() && !ties.causes[i].empty();
    Error error = divided(graph, partition, nodes, *other,
                          has_cause ? ties.causes[i] : "nodes that write or view the same memory");
    if (!ties.way_out.empty()) error.notes.push_back(ties.way_out);
    return error;
  }
  return Done{};
}

}  // namespace cleave
