#include "formats/lists/costs/fused_groups.h"

#include <algorithm>

#include "core/cost/cost.h"
#include "formats/lists/costs/runtime_names.h"

namespace cleave {
namespace {

// Rates used for shares only: what matters is the ratio of computing to moving data.
constexpr double kFlopsPerSecond = 10e12;
constexpr double kBytesPerSecond = 100e9;

double weight_of(const NodeCost& cost) {
  return std::max(cost.flops.value_or(0) / kFlopsPerSecond,
                  cost.bytes.value_or(0) / kBytesPerSecond);
}

}  // namespace

void FusedGroups::add(std::uint32_t kernel, NodeId node) {
  if (kernel_of_[node] == kNoKernel) kernel_of_[node] = kernel;
  std::vector<NodeId>& members = nodes_[kernel];
  if (std::find(members.begin(), members.end(), node) == members.end()) members.push_back(node);
}

bool FusedGroups::may_join(NodeId node, const NodeSet& is_listed) const {
  if (is_measured(node)) return false;
  return is_listed.contains(node) || is_often_fused(graph_.op(node));
}

bool FusedGroups::join_producer(NodeId node) {
  for (const Operand& operand : graph_.operands(node)) {
    const Value& value = graph_.value(operand.value);
    if (value.kind != ValueKind::node_output || !is_measured(value.producer)) continue;
    add(kernel_of_[value.producer], node);
    return true;
  }
  return false;
}

bool FusedGroups::join_reader(NodeId node) {
  for (const NodeId reader : graph_.readers(node)) {
    if (!is_measured(reader)) continue;
    add(kernel_of_[reader], node);
    return true;
  }
  return false;
}

std::size_t FusedGroups::join_neighbours(const NodeSet& is_listed) {
  std::size_t joined = 0;
  for (const NodeId node : graph_.nodes()) {
    if (may_join(node, is_listed) && join_producer(node)) ++joined;
  }
  for (std::size_t i = graph_.node_count(); i-- > 0;) {
    const auto node = id_at<NodeId>(i);
    if (may_join(node, is_listed) && join_reader(node)) ++joined;
  }
  return joined;
}

PerNode<double> FusedGroups::shares(std::span<const double> us) const {
  const PerNode<NodeCost> costs = node_costs(graph_);
  PerNode<double> shares(graph_.node_count(), -1);
  for (std::size_t kernel = 0; kernel < nodes_.size(); ++kernel) {
    double total = 0;
    for (const NodeId node : nodes_[kernel]) total += weight_of(costs[node]);
    for (const NodeId node : nodes_[kernel]) {
      const double share = total > 0 ? weight_of(costs[node]) / total
                                     : 1.0 / static_cast<double>(nodes_[kernel].size());
      shares[node] = std::max(shares[node], 0.0) + us[kernel] * share;
    }
  }
  return shares;
}

}  // namespace cleave
