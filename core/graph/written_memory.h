// The order that writes in place put between the nodes of a torch.fx graph: `add_`, `iadd`,
// `setitem`, `inplace=True`. What such a node writes is read after it by the nodes that follow it in
// the file, and before it by those that precede it, though no data goes between them. Views of a
// tensor, and the results of writes, share its memory.
//
// torch.export programs have schemas, which say more: formats/models/pt2/effects.h.
#pragma once

#include <vector>

#include "core/graph/graph.h"

namespace cleave {

// Ascending by the later node. Empty for most graphs. Linear in operands, near enough.
std::vector<RunOrder> order_of_writes(const Graph& graph);

}  // namespace cleave
