// Nodes that moved, as text: grouped by the change to blame and by their reason.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "formats/report/check/checked_node.h"

namespace cleave {

// "the model changed", "the support list changed", "the settings changed: start: cpu, was acc". The
// settings are those that differ; with none the words end at "changed".
std::string change_text(Change change, const std::vector<std::string>& settings = {});

// "\n  3 nodes newly on the CPU\n", then a line a group, deeper. Empty when nothing moved. At most
// 100 columns, 20 groups.
std::string moves_text(const std::vector<CheckedMove>& moves, std::string_view what,
                       const std::vector<std::string>& settings);

}  // namespace cleave
