// All outputs about a split, checked for what the reader of each can handle.
#pragma once

#include <string_view>
#include <vector>

#include "core/lists/support.h"
#include "formats/models/models.h"

namespace cleave::fuzz {

// A list that accepts some of the graph's op types, by a hash of their names and `salt`.
std::vector<SupportList> some_support(const Graph& graph, std::size_t salt);

// Splits the model and demands: each node in one part; valid reports, drawings and overlays, and
// the same ones when made again.
void demand_good_split(const LoadedModel& model, const std::vector<SupportList>& lists);

}  // namespace cleave::fuzz
