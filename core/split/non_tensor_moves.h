// Non-tensor moves (--move-non-tensor): where non-tensor data may cross, a node that makes some for
// another subgraph moves there, so that it does not cross after all.
//
//   acc_0: a -> split -> b       split makes a list that cpu_1 reads, too
//   cpu_1:          \-> c        => split and b move to cpu_1
//
// A node that makes a non-tensor moves from an accelerator subgraph when its readers outside are all
// in one other subgraph, with everything in its own subgraph that depends on it, if none of that has
// readers elsewhere. Then the nodes that make the non-tensors it reads are looked at.
// Method: FX splitter, move_non_tensor_nodes_on_boundary; but a fusion group stays where it is.
#pragma once

#include "core/graph/graph.h"
#include "core/split/fusion.h"
#include "core/split/subgraphs.h"

namespace cleave {

struct NonTensorsMoved {
  Fusions
      fusions;  // nodes that moved to a CPU subgraph have left the accelerator set, with a reason
  Subgraphs subgraphs;  // some may be empty
};

// Linear in the graph for each node that is looked at.
NonTensorsMoved move_non_tensor_nodes(const Graph& graph, Fusions fusions, Subgraphs subgraphs);

}  // namespace cleave
