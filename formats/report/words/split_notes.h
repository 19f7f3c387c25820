// Notes on a split that answer likely questions of a report's reader.
#pragma once

#include <string>

#include "core/split/split.h"

namespace cleave {

// A note if starting on the other side would give fewer subgraphs; otherwise "".
std::string start_note(const Split& split);

// "host shapes: 31 nodes, 12 fewer subgraphs"; "" when the option is off.
std::string host_shapes_note(const Split& split, const SplitOptions& options);

}  // namespace cleave
