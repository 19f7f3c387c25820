// Matches the kernels of a runtime to the nodes of a model: names rarely agree.
//
// The first rule that finds a node wins:
//   name         the kernel goes by the node's name
//   output       by the name of one of its outputs
//   stripped     by either, with what runtimes add taken off
//   joined       by the names of several nodes, which were fused
//   prefix       by the longest path that it has in common with a node whose op fits
//   shape        it makes what only one node with a fitting op makes
//   order        the runtime made its name up: it ran right behind a node that was found, and
//                makes what a reader of that node makes
//
// A node that has no kernel of its own is taken as fused into the kernel of a neighbour where its op
// is one that runtimes fuse. A kernel of several nodes is shared out by their estimated costs.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/graph.h"
#include "formats/costs/cost_entries.h"

namespace cleave {

enum class MatchRule : std::uint8_t { name, output, stripped, joined, prefix, shape, order, none };
inline constexpr std::size_t kMatchRules = 7;  // without `none`

// "by name", "by output", ...: for reports.
std::string_view match_rule_name(MatchRule rule);

struct UnmatchedCost {
  std::string name;
  std::string op;
  double us = 0;
};

struct CostMatch {
  PerNode<double> us;  // below 0: the file says nothing of the node
  std::size_t measured_nodes = 0;
  std::size_t fused_nodes = 0;  // of these, those without a kernel of their own
  double total_us = 0;          // of all kernels outside bodies
  double matched_us = 0;
  std::array<double, kMatchRules> us_by_rule = {};
  std::vector<UnmatchedCost> largest_unmatched = {};  // at most 10, the largest first
  std::size_t unmatched = 0;                          // kernels
  std::vector<MatchRule> rules = {};                  // by entry
  // By entry: the node that the rule found first; none where there is none, or it is a constant.
  std::vector<NodeId> nodes = {};

  // 1 where the file has no time at all.
  double share() const { return total_us > 0 ? matched_us / total_us : 1; }
};

// O((nodes + entries) log nodes).
CostMatch match_costs(const CostEntries& file, const Graph& graph);

}  // namespace cleave
