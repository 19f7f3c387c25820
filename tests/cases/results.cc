// Results of the passes in the form in which the cases record them.
#include <algorithm>

#include "tests/cases/checks.h"

namespace cleave::cases {
namespace {

std::string name_of(const Graph& graph, NodeId node) { return std::string(graph.node(node).name); }

Json sorted(Json names) {
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

Json names_of(const Graph& graph, std::span<const NodeId> nodes) {
  Json names = Json::array();
  for (const NodeId node : nodes) names.push_back(name_of(graph, node));
  return names;
}

Json names_of(const Graph& graph, std::span<const ValueId> values) {
  Json names = Json::array();
  for (const ValueId value : values) names.push_back(std::string(graph.value(value).name));
  return names;
}

Json names_of(const Graph& graph, const NodeSet& nodes) {
  Json names = Json::array();
  for (const NodeId node : graph.nodes()) {
    if (nodes.contains(node)) names.push_back(name_of(graph, node));
  }
  return sorted(std::move(names));
}

Json fusion_groups_of(const Graph& graph, const Fusions& fusions) {
  Json groups = Json::array();
  for (std::size_t i = 0; i < fusions.group_count(); ++i) {
    groups.push_back(sorted(names_of(graph, fusions.group(id_at<GroupId>(i)))));
  }
  return sorted(std::move(groups));
}

Json subgraphs_of(const Graph& graph, const Subgraphs& subgraphs) {
  Json result = Json::array();
  for (const Device device : subgraphs.devices) {
    result.push_back({{"is_acc", device == Device::acc}, {"nodes", Json::array()}});
  }
  for (const NodeId node : graph.nodes()) {
    result[index(subgraphs.subgraph_of[node])]["nodes"].push_back(name_of(graph, node));
  }
  for (Json& subgraph : result) subgraph["nodes"] = sorted(std::move(subgraph["nodes"]));
  return result;
}

Json submodules_of(const Graph& graph, const Partition& partition, const Boundaries& boundaries) {
  Json result = Json::array();
  for (const PartId part : partition.parts()) {
    result.push_back({{"name", partition.name(part)},
                      {"inputs", names_of(graph, boundaries.inputs[part])},
                      {"outputs", names_of(graph, boundaries.outputs[part])},
                      {"nodes", names_of(graph, partition.nodes(part))}});
  }
  return result;
}

Json calls_of(const Graph& graph, const Partition& partition, const Boundaries& boundaries) {
  Json result = Json::array();
  for (const PartId part : partition.parts()) {
    result.push_back(
        {{"call", partition.name(part)}, {"args", names_of(graph, boundaries.inputs[part])}});
  }
  return result;
}

}  // namespace cleave::cases
