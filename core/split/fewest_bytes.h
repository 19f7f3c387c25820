// Fewest bytes (--pack bytes): accelerator nodes that may run in either of two neighbouring accelerator
// subgraphs go where the fewest bytes cross the link. Rounds take each node as early as they can, so a
// value may leave the accelerator only to come back to the next subgraph.
//
//   acc_0: a b    cpu_1: c    acc_2: d       d reads b and c; b reads what a reads
//   acc_0: a      cpu_1: c    acc_2: b d     b's result does not cross any more
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/graph/graph.h"
#include "core/split/fusion.h"
#include "core/split/subgraphs.h"
#include "core/support/support_list.h"

namespace cleave {

struct PackedSubgraphs {
  Subgraphs subgraphs;
  std::size_t moved = 0;  // nodes
};

// Moves units between accelerator subgraphs with one CPU subgraph between them; the number of subgraphs
// and what runs on which device stay. For each pair the assignment is a minimum cut, so no other one of
// its units lets fewer bytes cross; of equal ones that with most nodes in the earlier subgraph is taken,
// and nothing moves where nothing is gained. Pairs are looked at in order, again until none gains, at
// most four times. A value counts once for each accelerator subgraph that reads it from outside, and
// once when it leaves the one that makes it; parameters and values of unknown size count nothing.
// A subgraph is left with `min_acc_size` nodes, and within `limits`, or stays as it is.
// Cost: for each pair that of a minimum cut of its nodes and edges (see MinCut).
PackedSubgraphs pack_for_fewest_bytes(const Graph& graph, const Fusions& fusions,
                                      Subgraphs subgraphs, std::size_t min_acc_size,
                                      const PartLimits& limits);

}  // namespace cleave
