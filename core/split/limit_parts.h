// Part limits: accelerator subgraphs beyond what a list says of a whole partition ("max_nodes",
// "max_parameter_bytes", "max_inputs", "max_outputs") are cut into several.
//
// A unit is a fusion group, or a node in no group. Units are taken in an order of execution; each
// piece takes as many as the limits allow, and ends, in the second half of these, where the fewest
// bytes cross to the next piece. A unit that is beyond a limit by itself goes to the CPU.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

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

// Cuts subgraphs, and gives the nodes that go to the CPU the reason `part_limit`. Consecutive CPU
// subgraphs are merged. A parameter counts once per piece; one of unknown size counts as 0 bytes.
// Linear in nodes and edges; where outputs are limited, a piece has at most 4,096 units, and each
// may be looked at that often.
LimitCuts limit_parts(const Graph& graph, const Fusions& fusions, const LimitsOfLists& limits,
                      MergedSubgraphs& merged);

}  // namespace cleave
