// Walks from each operator that reads a DQ to the Qs after it. A node of a chain reads from one
// node only and is that node's only reader: no node is in two walks, so all of them together are
// linear.
#include "core/pattern/qdq_groups.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "core/graph/op_name.h"

namespace cleave {
namespace {

// Looks up each op type once.
PerNode<QuantRole> roles_of(const Graph& graph) {
  std::unordered_map<std::uint64_t, QuantRole> known;  // by domain and op
  PerNode<QuantRole> roles(graph.node_count(), QuantRole::none);
  for (const NodeId node : graph.nodes()) {
    const Node& record = graph.node(node);
    const std::uint64_t op = std::uint64_t{index(record.domain)} << 32U | index(record.op);
    const auto [role, is_new] = known.try_emplace(op, QuantRole::none);
    if (is_new) role->second = quant_role(graph, node);
    roles[node] = role->second;
  }
  return roles;
}

class QdqFinder {
 public:
  QdqFinder(const Graph& graph, QdqReach reach)
      : graph_(graph), reach_(reach), roles_(roles_of(graph)) {}

  QdqGroups run() && {
    for (const NodeId node : graph_.nodes()) {
      if (roles_[node] == QuantRole::none) look_at(node);
    }
    return std::move(found_);
  }

 private:
  // Tries the node as an operator between DQs and Qs. If it turns out not to be one, the entries
  // made for it are removed again.
  void look_at(NodeId op) {
    if (reach_ == QdqReach::operators && reads_plain_floats(op)) return;
    const std::size_t before = found_.members.size();
    if (add_makers(op) && add_to_quantizers(op)) {
      found_.begin.push_back(static_cast<std::uint32_t>(found_.members.size()));
    } else {
      found_.members.resize(before);
    }
  }

  // What another node computed in floating point, or an input of the model.
  bool reads_plain_floats(NodeId op) const {
    const auto operands = graph_.operands(op);
    return std::any_of(operands.begin(), operands.end(), [&](const Operand& operand) {
      const Value& value = graph_.value(operand.value);
      const bool is_made = value.kind == ValueKind::node_output;
      if (is_made && roles_[value.producer] == QuantRole::dequantize) return false;
      return (is_made || value.kind == ValueKind::input) && is_float_dtype(value.dtype);
    });
  }

  void add_once(NodeId node, std::size_t since) {
    const auto from = found_.members.begin() + static_cast<std::ptrdiff_t>(since);
    if (std::find(from, found_.members.end(), node) == found_.members.end()) {
      found_.members.push_back(node);
    }
  }

  // Adds the DQs that the operator reads; false when it reads none. Without chains a DQ of several readers
  // is none of the group: it would tie their groups together, and a runtime gives each reader a copy.
  bool add_makers(NodeId op) {
    const std::size_t before = found_.members.size();
    bool reads_any = false;
    for (const Operand& operand : graph_.operands(op)) {
      const Value& value = graph_.value(operand.value);
      if (value.kind != ValueKind::node_output || roles_[value.producer] != QuantRole::dequantize) {
        continue;
      }
      reads_any = true;
      const auto readers = graph_.readers(value.producer);
      const bool is_shared =
          std::any_of(readers.begin(), readers.end(), [&](NodeId reader) { return reader != op; });
      if (reach_ == QdqReach::chains || !is_shared) add_once(value.producer, before);
    }
    return reads_any;
  }

  // Adds the operator, its chain, and the Qs at its end; false when anything else reads the chain.
  bool add_to_quantizers(NodeId op) {
    for (NodeId at = op; at != kNone<NodeId>; at = next_in_chain(at)) {
      found_.members.push_back(at);
      const auto readers = graph_.readers(at);
      if (is_returned(at) || readers.empty()) return false;
      const bool all_quantize = std::all_of(readers.begin(), readers.end(), [&](NodeId reader) {
        return roles_[reader] == QuantRole::quantize;
      });
      if (!all_quantize) continue;
      const std::size_t before = found_.members.size();
      for (const NodeId reader : readers) add_once(reader, before);
      return true;
    }
    return false;
  }

  bool is_returned(NodeId node) const {
    const auto outputs = graph_.outputs(node);
    return std::any_of(outputs.begin(), outputs.end(),
                       [&](ValueId output) { return graph_.is_graph_output(output); });
  }

  // The only reader of the node, if it is an operator that reads no other node; else kNone.
  NodeId next_in_chain(NodeId node) const {
    if (reach_ == QdqReach::operators) return kNone<NodeId>;
    const auto readers = graph_.readers(node);
    const NodeId next = readers.front();
    const auto is_next = [&](NodeId reader) { return reader == next; };
    if (!std::all_of(readers.begin(), readers.end(), is_next)) return kNone<NodeId>;
    if (roles_[next] != QuantRole::none) return kNone<NodeId>;
    for (const Operand& operand : graph_.operands(next)) {
      const Value& value = graph_.value(operand.value);
      if (value.kind == ValueKind::node_output && value.producer != node) return kNone<NodeId>;
    }
    return next;
  }

  const Graph& graph_;
  QdqReach reach_;
  PerNode<QuantRole> roles_;
  QdqGroups found_;
};

}  // namespace

QdqGroups find_qdq_groups(const Graph& graph, QdqReach reach) {
  return QdqFinder(graph, reach).run();
}

}  // namespace cleave
