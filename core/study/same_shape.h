// Same shape: partitions that compute the same up to names and weights, such as the blocks of a
// network. What compiles one of them has compiled them all.
//
// Two partitions have the same shape when their nodes can be paired so that op, attributes, wiring,
// dtypes and shapes agree, and so do the dtypes and shapes of inputs, outputs and parameters; what
// parameters and constants hold is not looked at. Found, not guessed: equal hashes are verified.
// But not complete: in a partition whose nodes are alike and yet wired differently (a symmetric
// graph), and of nodes with bodies or attributes beyond numbers and strings, sameness is not
// claimed.
#pragma once

#include <vector>

#include "core/graph/graph.h"
#include "core/split/boundary.h"
#include "core/split/partition.h"

namespace cleave {

struct SameShapes {
  PerPart<PartId> like;  // the first part of the same shape; itself where it is the first
  std::size_t acc_parts = 0;
  std::size_t distinct = 0;  // among accelerator parts
};

// Of accelerator parts; a CPU part is like itself. Linear but for sorting the nodes of each part.
SameShapes find_same_shapes(const Graph& graph, const Partition& partition,
                            const Boundaries& boundaries);

}  // namespace cleave
