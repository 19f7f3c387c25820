// What a user denies on the command line: ops and nodes, as an overlay on all lists.
#pragma once

#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "core/support/support_list.h"

namespace cleave {

// Each text names an op ("Conv", "com.microsoft::Gelu") or a node, or with * and ? several of both.
// The list's path is "--deny"; its text is a native list, which reports keep.
SupportList list_of_denials(const std::vector<std::string>& texts);

bool is_list_of_denials(const SupportList& list);

// The texts that name no op and no node of the graph, in the order given. Linear in the nodes,
// times the texts.
std::vector<std::string> idle_denials(const Graph& graph, const SupportList& list);

}  // namespace cleave
