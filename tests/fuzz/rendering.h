// All that can be shown of a split, held against what the reader of each can bear.
#pragma once

#include <string_view>
#include <vector>

#include "core/support/support.h"
#include "formats/model_file.h"

namespace cleave::fuzz {

// A list that accepts some of the graph's op types, by a hash of their names and `salt`.
std::vector<SupportList> some_support(const Graph& graph, std::size_t salt);

// Splits the model and demands: each node in one part; reports, drawings and overlays are what they
// should be, and the same when made again.
void demand_good_split(const LoadedModel& model, const std::vector<SupportList>& lists);

}  // namespace cleave::fuzz
