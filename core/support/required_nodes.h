// RequiredNodes: finds the nodes that a `require` matches, by name or op, both as globs, or by such a
// node in one of their bodies. The graph must outlive it.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/graph/graph.h"

namespace cleave {

class RequiredNodes {
 public:
  explicit RequiredNodes(const Graph& graph);

  // In model order. Linear in the graph's ops and the nodes found; for a glob, in the nodes.
  std::vector<NodeId> of(const std::string& pattern) const;

 private:
  std::unordered_map<std::string_view, std::vector<NodeId>> by_name_;
  std::map<std::pair<std::string_view, std::string_view>, std::vector<NodeId>> by_op_;
};

}  // namespace cleave
