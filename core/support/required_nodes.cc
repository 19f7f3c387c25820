#include "core/support/required_nodes.h"

#include <algorithm>

#include "core/graph/op_name.h"
#include "core/support/glob.h"
#include "core/support/rule_check.h"

namespace cleave {

RequiredNodes::RequiredNodes(const Graph& graph) {
  const auto add = [&](NodeId node, NodeId owner) {
    by_name_[graph.node(node).name].push_back(owner);
    by_op_[{graph.domain(node), graph.op(node)}].push_back(owner);
  };
  for (const NodeId node : graph.nodes()) {
    add(node, node);
    for (const NodeId inner : graph.body_nodes(node)) add(inner, node);
  }
}

std::vector<NodeId> RequiredNodes::of(const std::string& pattern) const {
  std::vector<NodeId> nodes;
  const auto take = [&](const std::vector<NodeId>& found) {
    nodes.insert(nodes.end(), found.begin(), found.end());
  };
  if (const auto found = by_name_.find(pattern); found != by_name_.end()) take(found->second);
  if (is_glob(pattern)) {
    for (const auto& [name, found] : by_name_) {
      if (glob_match(pattern, name)) take(found);
    }
  }
  const ParsedOp wanted = parse_op(pattern);
  for (const auto& [op, found] : by_op_) {
    if (names_op_anywhere(wanted, op.first, op.second)) take(found);
  }
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  return nodes;
}

}  // namespace cleave
