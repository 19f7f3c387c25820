// Auto-shard's cases: stages by parameter count. The recorded graphs only have a count of
// parameters for each module, so each node gets one parameter of its size.
#include <algorithm>
#include <map>

#include "core/stages/stages.h"
#include "formats/models/graph_json.h"
#include "tests/cases/checks.h"

namespace cleave::cases {
namespace {

// What the reference counts for each node: by its name, as if that were its module's path.
std::map<std::string, std::uint64_t> charges_of(const Case& recorded) {
  std::map<std::string, std::uint64_t> of_module;
  for (const auto& [path, count] : recorded.module_param_count.items()) {
    std::string name = path;
    std::replace(name.begin(), name.end(), '.', '_');
    of_module[name] = count;
  }
  std::map<std::string, std::uint64_t> charges;
  for (const std::string name : recorded.expected["node_order"]) {
    const auto whole = of_module.find(name);
    const auto head = of_module.find(name.substr(0, name.find('_')));
    charges[name] = whole != of_module.end()  ? whole->second
                    : head != of_module.end() ? head->second
                                              : 0;
  }
  return charges;
}

// If the reference counts a module twice, or places reads of parameters among the nodes, its answer
// is not that of the method.
bool is_sound(const Case& recorded, const std::map<std::string, std::uint64_t>& charges,
              const Json& graph) {
  std::uint64_t sum = 0;
  for (const auto& [name, charge] : charges) sum += charge;
  if (sum != recorded.module_param_count[""]) return false;
  std::map<std::string, bool> known;
  for (const char* list : {"nodes", "inputs"}) {
    for (const Json& item : graph[list]) known[item["name"]] = true;
  }
  const Json& order = recorded.expected["node_order"];
  return std::all_of(order.begin(), order.end(),
                     [&](const Json& name) { return known.contains(name.get<std::string>()); });
}

std::string with_parameters(const Case& recorded,
                            const std::map<std::string, std::uint64_t>& charges) {
  auto graph = nlohmann::ordered_json::parse(recorded.graph);
  graph["parameters"] = nlohmann::ordered_json::array();
  for (auto& node : graph["nodes"]) {
    const std::string name = node["name"];
    const auto charge = charges.find(name);
    if (charge == charges.end() || charge->second == 0) continue;
    graph["parameters"].push_back(
        {{"name", name + ".p"}, {"dtype", "float32"}, {"shape", {charge->second}}});
    node["module_parameters"] = {name + ".p"};
  }
  return graph.dump();
}

// The reference's shards of the nodes, renumbered if one holds inputs only.
Json recorded_stages(const Case& recorded, const Graph& graph, const Json& shard_ids) {
  const Json& order = recorded.expected["node_order"];
  std::map<std::string, int> shards;
  for (std::size_t i = 0; i < order.size(); ++i) shards[order[i]] = shard_ids[i];
  std::map<int, int> rank;
  for (const NodeId node : graph.nodes()) rank[shards.at(std::string(graph.node(node).name))] = 0;
  int next = 0;
  for (auto& [shard, number] : rank) number = next++;
  Json stages = Json::object();
  for (const NodeId node : graph.nodes()) {
    const std::string name(graph.node(node).name);
    stages[name] = rank[shards[name]];
  }
  return stages;
}

Json stages_of(const Graph& graph, const AutoShards& shards) {
  Json stages = Json::object();
  for (const NodeId node : graph.nodes()) {
    stages[std::string(graph.node(node).name)] = shards.stage_of[node];
  }
  return stages;
}

}  // namespace

void check_shard_case(const Case& recorded, Tally& tally) {
  const auto charges = charges_of(recorded);
  if (!is_sound(recorded, charges, Json::parse(recorded.graph))) return tally.skip_case();
  tally.begin_case(recorded.id);
  const SourceFile source = SourceFile::from_text(recorded.id, with_parameters(recorded, charges));
  const auto read = read_graph_json(source, {});
  if (tally.compare("graph is read", true, read.has_value())) {
    for (const int shards : recorded.settings["shard_counts"]) {
      const Json& ids = recorded.expected["shard_ids"][std::to_string(shards)];
      if (!ids.is_array()) continue;
      const auto mine = shard_by_parameters(read->graph, static_cast<std::uint32_t>(shards));
      tally.compare("shard: stages", recorded_stages(recorded, read->graph, ids),
                    stages_of(read->graph, mine));
    }
  }
  tally.end_case();
}

}  // namespace cleave::cases
