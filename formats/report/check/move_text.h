// Nodes that moved, as text: grouped by the change to blame and by reason.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "formats/report/check/checked_node.h"

namespace cleave {

// "the model changed", "the support list changed", "the settings changed: start: cpu, was acc".
// `settings` are the differences; without any the text ends at "changed".
std::string change_text(Change change, const std::vector<std::string>& settings = {});

// "\n  3 nodes newly on the CPU\n", then one line per group, further indented. Empty when no node
// moved. At most 100 columns and 20 groups.
std::string moves_text(const std::vector<CheckedMove>& moves, std::string_view what,
                       const std::vector<std::string>& settings);

}  // namespace cleave
