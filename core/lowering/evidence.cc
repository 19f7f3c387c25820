#include "core/lowering/evidence.h"

#include <algorithm>

#include "core/graph/domain.h"
#include "core/lowering/node_case.h"

namespace cleave {

EvidenceCase& Evidence::at(const Graph& graph, NodeId node) {
  const OpName op(plain_domain(graph.domain(node)), graph.op(node));
  return cases_[op]
      .emplace(node_case(graph, node), EvidenceCase{.graph = &graph, .node = node})
      .first->second;
}

void Evidence::add_passed(const Graph& graph, std::span<const NodeId> nodes) {
  for (const NodeId node : nodes) at(graph, node).passed = true;
}

void Evidence::add_failed(const Graph& graph, NodeId node) { at(graph, node).failed = true; }

std::vector<OpName> Evidence::failed_ops() const {
  std::vector<OpName> ops;
  for (const auto& [op, cases] : cases_) {
    const bool has_failed = std::any_of(cases.begin(), cases.end(),
                                        [](const auto& entry) { return entry.second.failed; });
    if (has_failed) ops.push_back(op);
  }
  return ops;
}

std::vector<EvidenceCase> Evidence::cases(const OpName& op) const {
  std::vector<EvidenceCase> cases;
  const auto found = cases_.find(op);
  if (found == cases_.end()) return cases;
  for (const auto& [text, item] : found->second) cases.push_back(item);
  return cases;
}

std::size_t Evidence::case_count() const {
  std::size_t count = 0;
  for (const auto& [op, cases] : cases_) count += cases.size();
  return count;
}

}  // namespace cleave
