// Parts given by tags: the result of split_by_tags, before and after extensions.
#include <algorithm>

#include "tests/cases/checks.h"

namespace cleave::cases {
namespace {

// The tags as subgraphs, in the order of settings.tags.
Subgraphs tagged(const Case& recorded, const Graph& graph) {
  const Json& tags = recorded.settings["tags"];
  Subgraphs result;
  result.subgraph_of = PerNode<PartId>(graph.node_count(), kNone<PartId>);
  result.devices.assign(tags.size(), Device::acc);
  result.sizes.assign(tags.size(), 0);
  for (const NodeId node : graph.nodes()) {
    const Json& tag = recorded.settings["node_tags"][std::string(graph.node(node).name)];
    const auto at =
        static_cast<std::size_t>(std::find(tags.begin(), tags.end(), tag) - tags.begin());
    result.subgraph_of[node] = id_at<PartId>(at);
    ++result.sizes.at(at);
  }
  return result;
}

void check_split(const Case& recorded, const Graph& graph, const Subgraphs& subgraphs,
                 Tally& tally) {
  std::vector<std::string> names = recorded.settings["tags"];
  const Partition partition =
      make_partition(subgraphs.subgraph_of, std::move(names), subgraphs.devices);
  const Boundaries boundaries = find_boundaries(graph, partition);
  const Json& split = recorded.expected["split"];
  tally.compare("tags: submodules", split["submodules"],
                submodules_of(graph, partition, boundaries));
  tally.compare("tags: calls", split["root"]["calls"], calls_of(graph, partition, boundaries));
  tally.compare("tags: outputs", split["root"]["outputs"], names_of(graph, graph.outputs()));
}

}  // namespace

void check_tags_case(const Case& recorded, const Graph& graph, Tally& tally) {
  Subgraphs subgraphs = tagged(recorded, graph);
  check_split(recorded, graph, subgraphs, tally);
}

}  // namespace cleave::cases
