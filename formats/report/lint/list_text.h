// A support list in words, `cleave lists show NAME`, and one to start from, `cleave lists new MODEL`.
#pragma once

#include <span>
#include <string>

#include "core/graph/graph.h"
#include "core/support/support_list.h"

namespace cleave {

// Where the list is from, its limits, then each op with its conditions and what is accepted on trust,
// denials last. At most 100 columns.
std::string list_text(const SupportList& list);

// The text of a native list with one rule for each op of the models, with the types that the op has
// there. Rules are in the order of first use; `why` says how many nodes of how many models each is
// for. Linear in the nodes.
std::string list_skeleton(std::span<const Graph* const> graphs, const std::string& name);

}  // namespace cleave
