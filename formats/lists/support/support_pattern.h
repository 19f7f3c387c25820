// Reads a pattern of a native support list.
//
//   {"name": "conv relu", "ops": ["Conv", {"op": "Relu"}], "edges": [[0, 1]]}
#pragma once

#include <vector>

#include "core/support/pattern.h"
#include "formats/lists/support/support_reader.h"
#include "formats/lists/support/support_rule.h"

namespace cleave {

// Reads the pattern at the cursor; returns the fields that each of its ops states.
std::vector<StatedFields> read_pattern(JsonWalk& json, PlaceCounter& places, Pattern& pattern);

}  // namespace cleave
