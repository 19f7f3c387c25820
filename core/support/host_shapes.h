// Host shapes (--host-shapes): nodes that compute shapes go to the side of the nodes that use them.
//
// Exported models compute shapes at run time: Shape -> Gather -> Mul -> Concat -> Reshape. These
// are a few integers; the host computes them while it launches a partition, or, with fixed shapes,
// the compiler folds them away. Yet a list without a rule for Shape splits the graph at each
// Reshape:
//
//   conv (acc) -> Shape, Gather, Concat (CPU) -> Reshape (acc)     three subgraphs; here: one
//
// A *shape computation* is Shape, Size (in native graphs: size, shape, dim, numel), or a node that
// computes on few numbers and reads only shape computations and small constants. Ops that make data
// of a given shape (Range, Expand, ConstantOfShape with more elements) are not. A shape computation
// goes where the nodes are that use it, whatever the support list says:
//  - all on the accelerator: there. All on the CPU: there, with reason `host_shape` and the user.
//  - on both: to the accelerator when its input is made there, so that no data goes to the CPU and
//    back; else to the CPU.
//  - no user: as the list says. A node that the list denies stays on the CPU.
// Nodes stay nodes: each is in one part, and is counted and written as before.
#pragma once

#include <cstddef>

#include "core/graph/graph.h"
#include "core/support/support.h"

namespace cleave {

struct HostShapes {
  NodeSet nodes;           // shape computations that follow their users
  Support support;         // the verdict on every node, with these nodes moved
  std::size_t to_acc = 0;  // moved to the accelerator though the list does not accept them
  std::size_t to_cpu = 0;  // moved to the CPU though the list accepts them
};

// Linear: shape computations are found front to back, their sides back to front.
HostShapes follow_shape_users(const Graph& graph, const Support& support);

}  // namespace cleave
