// A support list to start from: one rule for each op of some models, with the types that the op has
// there.
#pragma once

#include <span>
#include <string>

#include "core/graph/graph.h"

namespace cleave {

// The text of a native list. Rules are in the order of first use; `why` says how many nodes of how
// many models each is for. Linear in the nodes.
std::string list_skeleton(std::span<const Graph* const> graphs, const std::string& name);

}  // namespace cleave
