#include <vector>

#include "tests/cases/checks.h"

namespace cleave::cases {
namespace {

Json as_json(const Status<>& status) {
  return status.has_value() ? Json() : Json(status.error().message);
}

// Nodes that are on a path from one member of the group to another without being members.
Json nodes_between(const Graph& graph, std::span<const NodeId> group) {
  NodeSet members(graph.node_count()), behind(graph.node_count()), before(graph.node_count());
  for (const NodeId node : group) members.insert(node);
  const auto is_in = [](const NodeSet& a, const NodeSet& b, NodeId node) {
    return a.contains(node) || b.contains(node);
  };
  for (const NodeId node : graph.nodes()) {
    if (!is_in(members, behind, node)) continue;
    for (const NodeId reader : graph.readers(node)) behind.insert(reader);
  }
  for (std::size_t i = graph.node_count(); i-- > 0;) {
    const auto node = id_at<NodeId>(i);
    for (const NodeId reader : graph.readers(node)) {
      if (is_in(members, before, reader)) before.insert(node);
    }
  }
  Json between = Json::array();
  for (const NodeId node : graph.nodes()) {
    if (behind.contains(node) && before.contains(node) && !members.contains(node)) {
      between.push_back(std::string(graph.node(node).name));
    }
  }
  return between;
}

Json unreasoned(const Graph& graph, const Split& split) {
  Json names = Json::array();
  for (const NodeId node : graph.nodes()) {
    const bool on_cpu = !split.partition.is_acc(split.partition.part_of[node]);
    const bool has_reason = split.reasons[node].code != ReasonCode::none;
    if (on_cpu != has_reason) names.push_back(std::string(graph.node(node).name));
  }
  return names;
}

}  // namespace

void check_invariants(const Graph& graph, const Split& split, Tally& tally) {
  const Partition& partition = split.partition;
  std::size_t placed = 0;
  for (const PartId part : partition.parts()) placed += partition.nodes(part).size();
  tally.compare("each node in one part", graph.node_count(), placed);
  tally.compare("parts are in order and hold", Json(),
                as_json(check_partition(graph, partition, &split.fusions.acc.nodes)));
  tally.compare("each node on the CPU has a reason", Json::array(), unreasoned(graph, split));

  Json torn = Json::array(), between = Json::array(), not_acc = Json::array();
  for (std::size_t i = 0; i < split.fusions.group_count(); ++i) {
    const auto group = split.fusions.group(id_at<GroupId>(i));
    for (const Json& name : nodes_between(graph, group)) between.push_back(name);
    for (const NodeId node : group) {
      const std::string name(graph.node(node).name);
      if (partition.part_of[node] != partition.part_of[group[0]]) torn.push_back(name);
      if (!split.fusions.acc.nodes.contains(node)) not_acc.push_back(name);
    }
  }
  tally.compare("fusion groups are whole", Json::array(), torn);
  tally.compare("fusion groups are convex", Json::array(), between);
  tally.compare("fusion groups are accelerator nodes", Json::array(), not_acc);
}

}  // namespace cleave::cases
