// The FX splitter's cases: one field after the other, in the order of the passes.
#include <algorithm>
#include <map>

#include "core/split/split.h"
#include "tests/cases/checks.h"

namespace cleave::cases {
namespace {

class SplitterCheck {
 public:
  SplitterCheck(const Case& recorded, const LoadedModel& model, Tally& tally)
      : recorded_(recorded),
        expected_(recorded.expected),
        model_(model),
        graph_(model.graph),
        lists_{support_list_of(recorded)},
        tally_(tally),
        options_(split_options_of(recorded)) {}

  void run() {
    auto result = split_graph({graph_, lists_, facts_}, options_);
    if (!tally_.compare("splits", true, result.has_value())) return;
    const Split split = *std::move(result);
    const Preview preview =
        preview_split(graph_, split.partition, split.boundaries, default_link());
    check_invariants(graph_, split, tally_);
    check_node_support(
        expected_, {model_, model_.graph, lists_, facts_, options_, split, preview, {}}, tally_);
    check_found(split);
    if (!expected_.value("stable", true)) return;
    if (expected_.contains("error")) {
      const std::string stage = expected_["error"]["stage"];
      if (stage == "put_nodes" || stage == "split") check_where_reference_failed(split);
      return;
    }
    check_fusions(split);
    if (counts_graph_output(expected_, graph_)) return;
    check_subgraphs(split);
    check_parts(split);
    check_extensions(split);
    check_preview(expected_, graph_, split, preview, tally_);
  }

 private:
  bool is_recorded(const char* field) const { return expected_.contains(field); }

  // The acc finder's result does not depend on the order of sets, and all runs of the reference
  // reached it.
  void check_found(const Split& split) {
    const bool same = expected_.value("stable", true) && is_recorded("acc_nodes");
    const char* field = is_recorded("acc_nodes_found") ? "acc_nodes_found" : "acc_nodes";
    if (!is_recorded("acc_nodes_found") && !same) return;
    tally_.compare("acc_nodes_found", expected_[field], names_of(graph_, split.acc_found.nodes));
  }

  // Here cleave may have merged groups that form a cycle, and dropped a merged group with a CPU
  // node; in all else it must agree.
  void check_where_reference_failed(const Split& split) {
    if (!is_recorded("acc_nodes") || !is_recorded("fusion_groups")) return;
    const NodeSet& acc = split.fusions.acc.nodes;
    Json beyond = Json::array();
    for (const Json& name : names_of(graph_, acc)) {
      if (!holds(expected_["acc_nodes"], name)) beyond.push_back(name);
    }
    tally_.compare("acc nodes within (failed there)", Json::array(), beyond);

    const Json mine = fusion_groups_of(graph_, split.fusions);
    const Json names = names_of(graph_, acc);
    Json torn = Json::array();
    for (const Json& group : expected_["fusion_groups"]) {
      const bool is_left = std::any_of(group.begin(), group.end(),
                                       [&](const Json& name) { return holds(names, name); });
      const bool kept = std::any_of(mine.begin(), mine.end(), [&](const Json& other) {
        return std::includes(other.begin(), other.end(), group.begin(), group.end());
      });
      if (is_left && !kept) torn.push_back(group);
    }
    tally_.compare("fusion groups kept (failed there)", Json::array(), torn);
  }

  static bool holds(const Json& sorted_names, const Json& name) {
    return std::binary_search(sorted_names.begin(), sorted_names.end(), name);
  }

  void check_fusions(const Split& split) {
    if (is_recorded("acc_nodes")) {
      tally_.compare("acc_nodes", expected_["acc_nodes"],
                     names_of(graph_, split.fusions.acc.nodes));
    }
    if (is_recorded("fusion_groups")) {
      tally_.compare("fusion_groups", expected_["fusion_groups"],
                     fusion_groups_of(graph_, split.fusions));
    }
  }

  void check_subgraphs(const Split& split) {
    if (!is_recorded("subgraphs_before")) return;
    const Json& before = expected_["subgraphs_before"];
    tally_.compare("subgraphs_before", before, subgraphs_of(graph_, split.found.subgraphs));
    const MergedSubgraphs merged =
        merge_small_subgraphs(graph_, split.found.subgraphs, split.reasons, options_);
    tally_.compare("subgraphs_after", expected_.value("subgraphs_after", before),
                   subgraphs_of(graph_, merged.subgraphs));
  }

  void check_parts(const Split& split) {
    if (is_recorded("node_map")) {
      Json node_map = Json::object();
      for (const NodeId node : graph_.nodes()) {
        node_map[std::string(graph_.node(node).name)] =
            split.partition.name(split.partition.part_of[node]);
      }
      tally_.compare("node_map", expected_["node_map"], node_map);
    }
    if (is_recorded("submodules")) check_submodules(split);
    if (is_recorded("root")) check_root(split);
  }

  void check_submodules(const Split& split) {
    const Json mine = submodules_of(graph_, split.partition, split.boundaries);
    for (const char* field : {"name", "inputs", "outputs", "nodes"}) {
      Json want = Json::array(), have = Json::array();
      for (const Json& submodule : expected_["submodules"]) want.push_back(submodule[field]);
      for (const Json& submodule : mine) have.push_back(submodule[field]);
      tally_.compare(std::string("submodules: ") + field, want, have);
    }
    Json want = Json::array(), have = Json::array();
    for (const Json& submodule : expected_["submodules"]) {
      want.push_back(submodule.value("get_attr", Json::array()));
    }
    for (const PartId part : split.partition.parts()) {
      have.push_back(get_attr_targets(split.boundaries.parameters[part]));
    }
    tally_.compare("submodules: get_attr", want, have);
  }

  Json get_attr_targets(std::span<const ValueId> parameters) const {
    Json targets = Json::array();
    for (const ValueId parameter : parameters) {
      const auto found = recorded_.get_attr_targets.find(std::string(graph_.value(parameter).name));
      if (found != recorded_.get_attr_targets.end()) targets.push_back(found->second);
    }
    return targets;
  }

  void check_root(const Split& split) {
    const Json& root = expected_["root"];
    std::vector<ValueId> inputs(graph_.inputs().begin(), graph_.inputs().end());
    tally_.compare("root: inputs", root["inputs"], names_of(graph_, inputs));
    tally_.compare("root: calls", root["calls"],
                   calls_of(graph_, split.partition, split.boundaries));
    tally_.compare("root: outputs", root["outputs"], names_of(graph_, graph_.outputs()));
  }

  // Each accelerator subgraph extended by itself.
  void check_extensions(const Split& split) {
    if (!is_recorded("submodules")) return;
    const MergedSubgraphs merged =
        merge_small_subgraphs(graph_, split.found.subgraphs, split.reasons, options_);
    Json moves = Json::object();
    for (const PartId part : split.partition.parts()) {
      if (!split.partition.is_acc(part)) continue;
      const ExtendOptions one{.which = ExtendOptions::Which::one, .subgraph = index(part)};
      const auto extended = extend_subgraphs(graph_, split.fusions, merged.subgraphs, one, {});
      const std::vector<NodeId>& moved = extended->moved;
      Json names = names_of(graph_, moved);
      std::sort(names.begin(), names.end());
      if (!moved.empty()) moves[split.partition.name(part)] = std::move(names);
    }
    tally_.compare("extend", expected_.value("extend", Json::object()), moves);
  }

  const Case& recorded_;
  const Json& expected_;
  const LoadedModel& model_;
  const Graph& graph_;
  const std::vector<SupportList> lists_;
  const OpFacts facts_;
  Tally& tally_;
  const SplitOptions options_;
};

}  // namespace

bool counts_graph_output(const Json& expected, const Graph& graph) {
  for (const NodeId node : graph.nodes()) {
    if (graph.node(node).name == "output") return false;
  }
  for (const Json& subgraph : expected.value("subgraphs_before", Json::array())) {
    for (const Json& name : subgraph["nodes"]) {
      if (name == "output") return true;
    }
  }
  return false;
}

void check_splitter_case(const Case& recorded, const LoadedModel& model, Tally& tally) {
  SplitterCheck(recorded, model, tally).run();
}

}  // namespace cleave::cases
