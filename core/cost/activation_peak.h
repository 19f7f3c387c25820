// What a partition holds while it runs, besides its parameters.
#pragma once

#include <cstdint>
#include <span>

#include "core/graph/graph.h"

namespace cleave {

// The most bytes of values that nodes hold at once that run in this order as one partition: what enters or
// leaves it is held all the time, other values from the node that makes them to the last that reads
// them (as devices/problem.h counts). A value of unknown size counts as 0 bytes. Linear in operands
// and outputs.
std::uint64_t activation_peak(const Graph& graph, std::span<const NodeId> nodes);

}  // namespace cleave
