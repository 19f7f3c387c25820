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
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/graph.h"
#include "formats/lists/costs/cost_entries.h"

namespace cleave {

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
