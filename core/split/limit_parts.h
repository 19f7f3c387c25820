// Part limits: accelerator subgraphs beyond what a list says of a whole partition ("max_nodes",
// "max_parameter_bytes", "max_inputs", "max_outputs", "max_activation_bytes") are cut into several.
//
// A unit is a fusion group, or a node in no group. Units are taken in an order of execution; each
// piece takes as many as the limits allow, and ends, in the second half of these, where the fewest
// bytes cross to the next piece. A unit that is beyond a limit by itself goes to the CPU.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <unordered_map>
#include <vector>

#include "core/graph/graph.h"
#include "core/split/fusion.h"
#include "core/split/subgraphs.h"
#include "core/support/support_list.h"

namespace cleave {

// Each limit, and the list that states it; of several lists the least.
struct LimitsOfLists {
  PartLimits limits;
  std::array<std::uint16_t, kPartLimitCount> list = {};  // by PartLimit
};
LimitsOfLists limits_of_lists(std::span<const SupportList> lists);

// What the limits did. All 0 when no subgraph was beyond one.
struct LimitCuts {
  std::size_t subgraphs = 0;  // that were beyond a limit
  std::size_t pieces = 0;     // accelerator subgraphs made of them
  std::size_t nodes = 0;      // that went to the CPU
};

struct LimitedSubgraphs {
  MergedSubgraphs merged;
  LimitCuts cuts;
};

// Cuts subgraphs, and gives the nodes that go to the CPU the reason `part_limit`. Consecutive CPU
// subgraphs are merged. A parameter counts once per piece; one of unknown size counts as 0 bytes.
// Linear in nodes and edges; where outputs or activations are limited, a piece has at most 4,096 units, and
// each may be looked at that often.
LimitedSubgraphs limit_parts(const Graph& graph, const Fusions& fusions,
                             const LimitsOfLists& limits, MergedSubgraphs merged);

// Puts the subgraphs that fail a list's condition on a whole partition on the CPU, with that reason. Consecutive CPU subgraphs are merged.
// The same subgraphs if no list has conditions. Linear, times the conditions.
MergedSubgraphs drop_failing_parts(const Graph& graph, std::span<const SupportList> lists,
                                   MergedSubgraphs merged);

// What the limits count in each subgraph, updated while nodes move from one to another.
class PartCounts {
 public:
  // Counts activations only where they are limited. Linear in nodes + edges; about 40 bytes an edge.
  PartCounts(const Graph& graph, const Subgraphs& subgraphs, const PartLimits& limits);

  // Where activations are limited, linear in the subgraph's operands and outputs.
  LimitedCounts of(PartId part) const;
  // Linear in the node's operands and outputs.
  void move(NodeId node, PartId to);

 private:
  std::uint32_t reads_in(ValueId value, PartId part) const;
  PartId home_of(ValueId value) const;
  void count(ValueId value, PartId part, bool is_added);
  void count(ValueId value, PartId from, PartId to, bool is_added);

  const Graph& graph_;
  PerNode<PartId> part_of_;
  std::unordered_map<std::uint64_t, std::uint32_t> reads_;  // by value and subgraph: nodes
  std::vector<LimitedCounts> counts_;
  std::vector<std::set<NodeId>> members_;  // by subgraph, where activations are limited
};

}  // namespace cleave
