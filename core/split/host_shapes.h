// Host shapes (--host-shapes): nodes that compute shapes go where the nodes are that use them.
//
// Exported models work out shapes as they run: Shape -> Gather -> Mul -> Concat -> Reshape. A few
// integers, which the host computes while it launches a partition or, with fixed shapes, the
// compiler folds away; yet a list that does not name Shape tears a partition apart at each Reshape:
//
//   conv (acc) -> Shape, Gather, Concat (CPU) -> Reshape (acc)     three subgraphs; here: one
//
// A *shape computation* is Shape, Size (in native graphs: size, shape, dim, numel) and what follows
// from them alone (and from small constants) by arithmetic on a handful of numbers; what makes
// data of a shape (Range, Expand, ConstantOfShape of more than that) is not. Its side is that of
// the nodes that use it, whatever the support list says of it:
//   - all on the accelerator: there. All on the CPU: there, with reason `host_shape` and the user.
//   - on both: on the accelerator when what it is computed from is made there, so that nothing goes
//     to the CPU and back; else on the CPU.
//   - no user: as the list says. A node that the list denies stays on the CPU.
// Nodes stay nodes: each is in one part, counted and written as before.
#pragma once

#include <cstddef>

#include "core/graph/graph.h"
#include "core/support/support.h"

namespace cleave {

struct HostShapes {
  NodeSet nodes;           // shape computations that follow their users
  Support support;         // every verdict, theirs as their users' sides make it
  std::size_t to_acc = 0;  // of them: on the accelerator though the list does not accept them
  std::size_t to_cpu = 0;  // on the CPU though it does
  // Set by split_graph: subgraphs that all this came to, and how many there would be without.
  std::size_t subgraphs = 0;
  std::size_t subgraphs_without = 0;
};

// Linear: what is a shape computation is found front to back, whom it follows back to front.
HostShapes follow_shape_users(const Graph& graph, const Support& support);

}  // namespace cleave
