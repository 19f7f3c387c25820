// FusedGroups: which nodes each kernel of a profile did the work of, and what each node's share of
// its time is.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/graph/graph.h"

namespace cleave {

class FusedGroups {
 public:
  static constexpr std::uint32_t kNoKernel = 0xFFFFFFFF;

  FusedGroups(const Graph& graph, std::size_t kernels)
      : graph_(graph), kernel_of_(graph.node_count(), kNoKernel), nodes_(kernels) {}

  // The kernel does work of the node. A node may be done by several kernels.
  void add(std::uint32_t kernel, NodeId node);
  bool is_measured(NodeId node) const { return kernel_of_[node] != kNoKernel; }
  std::uint32_t kernel_of(NodeId node) const { return kernel_of_[node]; }  // the first one
  std::span<const NodeId> nodes(std::uint32_t kernel) const { return nodes_[kernel]; }

  // Nodes without a kernel join that of the node that they read or, failing that, of a node that
  // reads them, when their op is often fused or `is_listed` (the runtime lists them as not run).
  // Returns how many did. Linear.
  std::size_t join_neighbours(const NodeSet& is_listed);

  // Microseconds by node: each kernel's time shared out by estimated costs, equally where nothing
  // is known of these; below 0 for a node without a kernel. `us`: by kernel.
  PerNode<double> shares(std::span<const double> us) const;

 private:
  bool may_join(NodeId node, const NodeSet& is_listed) const;
  bool join_producer(NodeId node);
  bool join_reader(NodeId node);

  const Graph& graph_;
  PerNode<std::uint32_t> kernel_of_;
  std::vector<std::vector<NodeId>> nodes_;  // by kernel
};

}  // namespace cleave
