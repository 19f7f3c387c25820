// FusedGroups: the nodes whose work each kernel of a profile did, and each node's share of its
// time.
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

  // Records that the kernel does work of the node. Several kernels may do work of one node.
  void add(std::uint32_t kernel, NodeId node);
  bool is_measured(NodeId node) const { return kernel_of_[node] != kNoKernel; }
  std::uint32_t kernel_of(NodeId node) const { return kernel_of_[node]; }  // the first one
  std::span<const NodeId> nodes(std::uint32_t kernel) const { return nodes_[kernel]; }

  // A node without a kernel joins the kernel of a node that it reads, or else of a node that reads
  // it, if its op is often fused or it is in `is_listed` (the runtime lists it as not run). Returns
  // the number of nodes that joined. Linear.
  std::size_t join_neighbours(const NodeSet& is_listed);

  // Microseconds by node: each kernel's time divided in proportion to estimated costs, or equally
  // if these are unknown; below 0 for a node without a kernel. `us` is by kernel.
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
