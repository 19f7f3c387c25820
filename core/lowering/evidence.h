// Evidence: which node cases a backend accepted and which it refused, op by op. A partition that
// lowers is evidence for each of its nodes; a culprit is evidence against one.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/graph/graph.h"

namespace cleave {

// A node that represents all nodes of its case.
struct EvidenceCase {
  const Graph* graph;
  NodeId node;
  bool passed = false;  // in some piece
  bool failed = false;  // alone; if both are set, the verdict depends on the nodes around it
};

// Domain ("" for the default domain) and op.
using OpName = std::pair<std::string, std::string>;

class Evidence {
 public:
  // Graphs must outlive this. Linear in the nodes' operands and attributes.
  void add_passed(const Graph& graph, std::span<const NodeId> nodes);
  void add_failed(const Graph& graph, NodeId node);

  // Ops with a case that failed, sorted.
  std::vector<OpName> failed_ops() const;
  // The cases of an op, sorted by their text.
  std::vector<EvidenceCase> cases(const OpName& op) const;
  std::size_t case_count() const;

 private:
  EvidenceCase& at(const Graph& graph, NodeId node);
  std::map<OpName, std::map<std::string, EvidenceCase>> cases_;
};

}  // namespace cleave
