// Same shape: finds partitions that compute the same except for names and weights, such as the
// blocks of a network. Compiling one of them is enough.
//
// Two partitions have the same shape when their nodes can be paired so that op, attributes, wiring,
// dtypes and shapes agree, and so do the dtypes and shapes of inputs, outputs and parameters. The
// contents of parameters and constants are ignored. Results are certain: equal hashes are verified.
// They are not complete: sameness is not claimed for a partition whose nodes are alike but wired
// differently (a symmetric graph), nor for nodes with bodies or with attributes other than numbers
// and strings.
#pragma once

#include <vector>

#include "core/graph/graph.h"
#include "core/split/boundary.h"
#include "core/split/partition.h"

namespace cleave {

struct SameShapes {
  PerPart<PartId> like;  // the first part of the same shape; the part itself if it is the first
  std::size_t acc_parts = 0;
  std::size_t distinct = 0;  // among accelerator parts
};

// Compares accelerator parts; a CPU part is only like itself. Linear, plus sorting the nodes of
// each part.
SameShapes find_same_shapes(const Graph& graph, const Partition& partition,
                            const Boundaries& boundaries);

}  // namespace cleave
