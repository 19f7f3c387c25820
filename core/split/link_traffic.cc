#include "core/split/link_traffic.h"

#include "core/cost/cost.h"

namespace cleave {
namespace {

std::uint64_t key(ValueId value, PartId part) {
  return std::uint64_t{index(value)} << 32U | index(part);
}

}  // namespace

LinkTraffic::LinkTraffic(const Graph& graph, const Subgraphs& subgraphs)
    : graph_(graph),
      devices_(subgraphs.devices),
      part_of_(subgraphs.subgraph_of),
      reading_parts_(graph.value_count(), 0),
      reading_acc_parts_(graph.value_count(), 0) {
  reads_.reserve(graph.edge_count());
  for (const NodeId node : graph.nodes()) {
    for (const Operand& operand : graph.operands(node)) add_read(operand.value, part_of_[node]);
  }
  for (const ValueId value : graph.inputs()) bytes_ += bytes_of(value);
  for (const NodeId node : graph.nodes()) {
    for (const ValueId value : graph.outputs(node)) bytes_ += bytes_of(value);
  }
}

std::uint32_t LinkTraffic::reads_in(ValueId value, PartId part) const {
  const auto found = reads_.find(key(value, part));
  return found == reads_.end() ? 0 : found->second;
}

void LinkTraffic::add_read(ValueId value, PartId part) {
  if (graph_.is_parameter(value) || ++reads_[key(value, part)] != 1) return;
  ++reading_parts_[value];
  if (is_acc(part)) ++reading_acc_parts_[value];
}

void LinkTraffic::remove_read(ValueId value, PartId part) {
  if (graph_.is_parameter(value)) return;
  const auto found = reads_.find(key(value, part));
  if (--found->second != 0) return;
  reads_.erase(found);
  --reading_parts_[value];
  if (is_acc(part)) --reading_acc_parts_[value];
}

// The value's share of bytes_; 0 for a parameter.
std::uint64_t LinkTraffic::bytes_of(ValueId id) const {
  const Value& value = graph_.value(id);
  std::uint64_t crossings = reading_acc_parts_[id];
  if (value.kind == ValueKind::node_output && is_acc(part_of_[value.producer])) {
    const std::uint32_t at_home = reads_in(id, part_of_[value.producer]) != 0 ? 1 : 0;
    crossings -= at_home;
    if (reading_parts_[id] != at_home || graph_.is_graph_output(id)) ++crossings;
  }
  return crossings == 0 ? 0 : crossings * value_bytes(graph_, id).value_or(0);
}

void LinkTraffic::move(NodeId node, PartId to) {
  const PartId from = part_of_[node];
  for (const Operand& operand : graph_.operands(node)) {
    bytes_ -= bytes_of(operand.value);
    remove_read(operand.value, from);
    add_read(operand.value, to);
    bytes_ += bytes_of(operand.value);
  }
  for (const ValueId value : graph_.outputs(node)) bytes_ -= bytes_of(value);
  part_of_[node] = to;
  for (const ValueId value : graph_.outputs(node)) bytes_ += bytes_of(value);
}

}  // namespace cleave
