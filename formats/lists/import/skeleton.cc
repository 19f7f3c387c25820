#include "formats/lists/import/skeleton.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "core/graph/domain.h"
#include "core/graph/signature.h"
#include "core/support/rule.h"
#include "formats/base/json/text.h"
#include "formats/base/text/number_text.h"
#include "formats/lists/support/rule_json.h"

namespace cleave {
namespace {

struct MetOp {
  Rule rule;
  std::size_t nodes = 0;
  std::set<std::size_t> models = {};
};

// Adds the types of a node to the rule. A position that has no known type in some node accepts any
// type.
void add_types(const Signature& signature, bool is_first, Rule& rule) {
  const std::size_t count = signature.args.size();
  if (is_first) {
    for (const DType dtype : signature.args) {
      rule.inputs.emplace_back();
      if (dtype != DType::unknown) rule.inputs.back().emplace().add(dtype);
    }
    return;
  }
  if (rule.inputs.size() > count) rule.inputs.resize(count);
  for (std::size_t i = 0; i < rule.inputs.size(); ++i) {
    if (signature.args[i] == DType::unknown) rule.inputs[i].reset();
    if (rule.inputs[i]) rule.inputs[i]->add(signature.args[i]);
  }
}

std::string plural(std::size_t count, const std::string& what) {
  return count_text(count) + " " + what + (count == 1 ? "" : "s");
}

}  // namespace

std::string list_skeleton(std::span<const Graph* const> graphs, const std::string& name) {
  std::vector<MetOp> ops;
  std::map<std::pair<std::string, std::string>, std::size_t> places;
  const auto add = [&](const Graph& graph, NodeId node, std::size_t model) {
    const std::pair<std::string, std::string> key(plain_domain(graph.domain(node)), graph.op(node));
    const auto [place, is_new] = places.try_emplace(key, ops.size());
    if (is_new) {
      MetOp& met = ops.emplace_back();
      met.rule.domain = key.first;
      met.rule.op = key.second;
    }
    MetOp& met = ops[place->second];
    add_types(signature_of(graph, node), is_new, met.rule);
    ++met.nodes;
    met.models.insert(model);
  };
  for (std::size_t i = 0; i < graphs.size(); ++i) {
    const Graph& graph = *graphs[i];
    for (const NodeId node : graph.nodes()) {
      add(graph, node, i);
      for (const NodeId inner : graph.body_nodes(node)) add(graph, inner, i);
    }
  }
  JsonText json;
  json.begin_object();
  json.text("format", "cleave.support");
  json.number("version", 1);
  json.text("name", name);
  json.begin_list("allow");
  for (MetOp& met : ops) {
    met.rule.why = plural(met.nodes, "node") + " of " + plural(met.models.size(), "model");
    write_allow_rule(json, met.rule);
  }
  json.end_list();
  json.end_object();
  return std::move(json).finish();
}

}  // namespace cleave
