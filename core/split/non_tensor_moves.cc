#include "core/split/non_tensor_moves.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/adjacency.h"

namespace cleave {
namespace {

class NonTensorMoves {
 public:
  NonTensorMoves(const Graph& graph, Fusions& fusions, Subgraphs& subgraphs)
      : graph_(graph), fusions_(fusions), subgraphs_(subgraphs) {}

  void run() {
    std::vector<std::vector<NodeId>> candidates(subgraphs_.count());
    for (const NodeId node : graph_.nodes()) {
      const PartId home = subgraphs_.subgraph_of[node];
      const bool is_acc = subgraphs_.devices[index(home)] == Device::acc;
      if (is_acc && makes_non_tensor(node) && has_readers_outside(node)) {
        candidates[index(home)].push_back(node);
      }
    }
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      move_from(id_at<PartId>(i), {candidates[i].begin(), candidates[i].end()});
    }
  }

 private:
  bool makes_non_tensor(NodeId node) const {
    const auto outputs = graph_.outputs(node);
    return std::any_of(outputs.begin(), outputs.end(),
                       [&](ValueId output) { return !graph_.value(output).is_tensor(); });
  }

  bool has_readers_outside(NodeId node) const {
    const auto readers = graph_.readers(node);
    return std::any_of(readers.begin(), readers.end(), [&](NodeId reader) {
      return subgraphs_.subgraph_of[reader] != subgraphs_.subgraph_of[node];
    });
  }

  void move_from(PartId home, std::deque<NodeId> queue) {
    NodeSet looked_at(graph_.node_count());
    while (!queue.empty()) {
      const NodeId node = queue.front();
      queue.pop_front();
      if (!looked_at.insert(node) || subgraphs_.subgraph_of[node] != home) continue;
      const auto target = only_target(node);
      if (!target || !move_with_dependents(node, home, *target)) continue;
      for (const Operand& operand : graph_.operands(node)) {
        if (graph_.value(operand.value).kind != ValueKind::node_output) continue;
        const NodeId maker = graph_.value(operand.value).producer;
        if (subgraphs_.subgraph_of[maker] == home && makes_non_tensor(maker)) {
          queue.push_back(maker);
        }
      }
    }
  }

  // The subgraph of all readers outside the node's own; nullopt: there are several.
  std::optional<PartId> only_target(NodeId node) const {
    std::optional<PartId> target;
    for (const NodeId reader : graph_.readers(node)) {
      const PartId part = subgraphs_.subgraph_of[reader];
      if (part == subgraphs_.subgraph_of[node]) continue;
      if (target && *target != part) return std::nullopt;
      target = part;
    }
    return target;
  }

  // False, and nothing moves, if a dependent has a reader in a third subgraph or is in a fusion
  // group.
  bool move_with_dependents(NodeId node, PartId home, PartId target) {
    NodeSet found(graph_.node_count());
    std::vector<NodeId> moved = {node};
    found.insert(node);
    for (std::size_t i = 0; i < moved.size(); ++i) {
      if (fusions_.group_of[moved[i]] != kNone<GroupId>) return false;
      for (const NodeId reader : graph_.readers(moved[i])) {
        const PartId part = subgraphs_.subgraph_of[reader];
        if (part == target) continue;
        if (part != home) return false;
        if (found.insert(reader)) moved.push_back(reader);
      }
    }
    for (const NodeId each : moved) put(each, node, home, target);
    return true;
  }

  void put(NodeId node, NodeId because, PartId home, PartId target) {
    subgraphs_.subgraph_of[node] = target;
    --subgraphs_.sizes[index(home)];
    ++subgraphs_.sizes[index(target)];
    if (subgraphs_.devices[index(target)] == Device::acc) return;
    fusions_.acc.nodes.erase(node);
    fusions_.acc.reasons[node] =
        node == because
            ? Reason{.code = ReasonCode::non_tensor_output, .because = reader_in(node, target)}
            : Reason{.code = ReasonCode::fusion_group, .because = because};
  }

  NodeId reader_in(NodeId node, PartId target) const {
    for (const NodeId reader : graph_.readers(node)) {
      if (subgraphs_.subgraph_of[reader] == target) return reader;
    }
    return kNone<NodeId>;
  }

  const Graph& graph_;
  Fusions& fusions_;
  Subgraphs& subgraphs_;
};

}  // namespace

NonTensorsMoved move_non_tensor_nodes(const Graph& graph, Fusions fusions, Subgraphs subgraphs) {
  NonTensorMoves(graph, fusions, subgraphs).run();
  return {std::move(fusions), std::move(subgraphs)};
}

}  // namespace cleave
