// Matches the kernels of a runtime to the nodes of a model, whose names rarely agree.
//
// The first rule that finds a node wins:
//   name         the kernel has the node's name
//   output       the kernel has the name of one of the node's outputs
//   stripped     the same after removing what runtimes add to names
//   joined       the kernel has the names of several nodes, which were fused
//   prefix       the node with a fitting op and the longest common path
//   shape        only one node with a fitting op has the kernel's output shape
//   order        the runtime made the name up: the kernel ran right after a node that was found,
//                and has the output shape of a reader of that node
//
// Kernels inside the body of a Loop, If or Scan are part of its time, unless the model has them as
// nodes of its own: an If that is decided is replaced by its branch. Then they count, and the If
// does not.
//
// A node without a kernel of its own counts as fused into a neighbour's kernel if its op is one
// that runtimes fuse. The time of a kernel of several nodes is divided by their estimated costs.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/name_table.h"
#include "core/graph/graph.h"
#include "formats/lists/costs/cost_entries.h"

namespace cleave {

// NodeNames: finds the nodes of a graph by name, and by the names of their outputs. Includes
// constants and nodes of bodies, since runtimes name them too.
class NodeNames {
 public:
  // Linear. The graph must live as long as this.
  explicit NodeNames(const Graph& graph);

  // The node, constant or body node with that name.
  std::optional<NodeId> find(std::string_view name) const;
  // The node or constant that makes the value with that name.
  std::optional<NodeId> find_maker(std::string_view value) const;
  // The node whose time includes that of `id`: itself, or the one around it; kNone for a constant.
  NodeId owner(NodeId id) const;

 private:
  std::string_view node_name(std::uint32_t id) const { return graph_.node(NodeId{id}).name; }
  std::string_view value_name(std::uint32_t id) const { return graph_.value(ValueId{id}).name; }
  void add_node(NodeId id);
  void add_outputs(NodeId id);

  const Graph& graph_;
  NameTable nodes_, values_;
  std::vector<NodeId> owners_;  // of body nodes, from first_body_ on
  std::uint32_t first_body_ = 0;
};

// FusedGroups: the nodes whose work each kernel of a profile did, and each node's share of its
// time.
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

enum class MatchRule : std::uint8_t { name, output, stripped, joined, prefix, shape, order, none };
inline constexpr std::size_t kMatchRules = 7;  // without `none`

// "by name", "by output", ...: the name in reports.
std::string_view match_rule_name(MatchRule rule);

struct UnmatchedCost {
  std::string name;
  std::string op;
  double us = 0;
};

struct CostMatch {
  PerNode<double> us;  // below 0: the file has no time for the node
  std::size_t measured_nodes = 0;
  std::size_t fused_nodes = 0;  // of these, those without a kernel of their own
  double total_us = 0;          // of all kernels outside bodies
  double matched_us = 0;
  std::array<double, kMatchRules> us_by_rule = {};
  std::vector<UnmatchedCost> largest_unmatched = {};  // at most 10, the largest first
  std::size_t unmatched = 0;                          // kernels
  std::vector<MatchRule> rules = {};                  // by entry
  // By entry: the node that the rule found first; kNone if there is none, or it is a constant.
  std::vector<NodeId> nodes = {};

  // 1 when the file has no time at all.
  double share() const { return total_us > 0 ? matched_us / total_us : 1; }
};

// O((nodes + entries) log nodes).
CostMatch match_costs(const CostEntries& file, const Graph& graph);

}  // namespace cleave
