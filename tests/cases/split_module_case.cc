// split_module's cases: parts by a given map, in either order.
#include <algorithm>

#include "core/split/split.h"
#include "core/stages/stages.h"
#include "formats/report/stages/stages_report.h"
#include "tests/cases/checks.h"

namespace cleave::cases {
namespace {

Assignment assignment_of(const Case& recorded, const Graph& graph) {
  Assignment result;
  result.part_of = PerNode<PartId>(graph.node_count());
  for (const NodeId node : graph.nodes()) {
    const Json& id = recorded.settings["assignment"].at(std::string(graph.node(node).name));
    const std::string name = "submod_" + (id.is_string() ? id.get<std::string>() : id.dump());
    std::size_t part = 0;
    while (part < result.names.size() && result.names[part] != name) ++part;
    if (part == result.names.size()) result.names.push_back(name);
    result.part_of[node] = id_at<PartId>(part);
  }
  return result;
}

Json field_of(const Json& parts, const char* field) {
  Json values = Json::array();
  for (const Json& part : parts) values.push_back(part[field]);
  return values;
}

// The reference's root names a get_attr node by its target.
Json with_targets(const Case& recorded, Json calls) {
  for (Json& call : calls) {
    for (Json& arg : call["args"]) {
      const auto found = recorded.get_attr_targets.find(arg.get<std::string>());
      if (found != recorded.get_attr_targets.end()) arg = found->second;
    }
  }
  return calls;
}

Json recorded_calls(const Json& expected) {
  Json calls = Json::array();
  for (const Json& step : expected["root"]) {
    if (step[0] == "call") calls.push_back({{"call", step[1]}, {"args", step[2]}});
  }
  return calls;
}

void check_parts(const Case& recorded, const Json& expected, const LoadedModel& model,
                 const Partition& partition, Tally& tally) {
  const Graph& graph = model.graph;
  const Boundaries boundaries = find_boundaries(graph, partition, {.pass_parameters = true});
  const Json mine = submodules_of(graph, partition, boundaries);
  for (const char* field : {"name", "inputs", "outputs", "nodes"}) {
    tally.compare(std::string("split_module: ") + field, field_of(expected["partitions"], field),
                  field_of(mine, field));
  }
  tally.compare("split_module: calls", recorded_calls(expected),
                with_targets(recorded, calls_of(graph, partition, boundaries)));
  const Json report = Json::parse(stages_json({.model = model,
                                               .graph = graph,
                                               .part_word = "partition",
                                               .partition = partition,
                                               .boundaries = boundaries,
                                               .root = boundaries}));
  tally.compare("split_module: qualname_map", expected.value("qualname_map", Json::object()),
                report["qualname_map"]);
}

// The recorded result, or the one that it is equal to.
const Json& result_of(const Json& expected, const std::string& key) {
  const Json& result = expected.at(key);
  return result.contains("same_as") ? result_of(expected, result["same_as"]) : result;
}

// The newer reference loses a parameter that only the model's output reads: its error is the
// parameter's name.
bool is_lost_parameter(const Json& expected, const Graph& graph) {
  if (!expected.contains("error") || expected["error"]["type"] != "KeyError") return false;
  const std::string name = expected["error"]["message"];
  const auto parameters = graph.parameters();
  return std::any_of(parameters.begin(), parameters.end(), [&](ValueId value) {
    return "'" + std::string(graph.value(value).name) + "'" == name;
  });
}

}  // namespace

void check_split_module_case(const Case& recorded, const LoadedModel& model, Tally& tally) {
  const Assignment assignment = assignment_of(recorded, model.graph);
  for (const bool keep : {false, true}) {
    const std::string key = std::string("new/keep_original_order=") + (keep ? "true" : "false");
    const Json& expected = result_of(recorded.expected, key);
    const bool is_refused = expected.contains("error") && !is_lost_parameter(expected, model.graph);
    const auto partition = order_parts(model.graph, assignment, {.keep_original_order = keep});
    if (tally.compare("split_module: is refused", is_refused, !partition) &&
        !expected.contains("error")) {
      check_parts(recorded, expected, model, *partition, tally);
    }
  }
}

}  // namespace cleave::cases
