// Extension (--extend): accelerator subgraphs reach back for nodes that only they use.
//
//   acc_0: a b    cpu_1: c    acc_2: d        d reads b and c; nothing else reads b
//   acc_0: a      cpu_1: c    acc_2: b d      b goes from acc_0 to acc_2
#pragma once

#include <cstddef>
#include <vector>

#include "core/base/result.h"
#include "core/graph/graph.h"
#include "core/split/fusion.h"
#include "core/split/options.h"
#include "core/split/subgraphs.h"
#include "core/support/support_list.h"

namespace cleave {

// An extension that was left out: with it, a subgraph would be beyond a limit of a list.
struct ExtensionLeftOut {
  PartId subgraph;    // that stays as it is
  std::size_t nodes;  // that would have moved there
  PartLimit limit;
};

struct ExtendedSubgraphs {
  Subgraphs subgraphs;
  std::vector<NodeId> moved;               // model order
  std::vector<ExtensionLeftOut> left_out;  // by subgraph
};

// Moves accelerator nodes from earlier subgraphs into the one that options.which names, going
// backwards from the producers of its nodes: a node moves when all its users in subgraphs before
// have moved. `all` extends from the last subgraph to the first, so that a subgraph has lost its
// nodes to later ones before it is extended. `automatic` makes only those extensions that lower the
// bytes that enter and leave accelerator subgraphs.
//
// Each extension is judged by itself: one that takes a subgraph, its own or one that loses nodes,
// beyond `limits` is left out, and the others are made. Refuses to extend a subgraph that does not
// exist or is not on the accelerator. Linear in the graph and in the moves that are taken back.
// Method: FX splitter, extend_acc_subgraph.
Result<ExtendedSubgraphs> extend_subgraphs(const Graph& graph, const Fusions& fusions,
                                           Subgraphs subgraphs, const ExtendOptions& options,
                                           const PartLimits& limits);

}  // namespace cleave
