// Notes on a split that answer likely questions of a report's reader.
#pragma once

#include <string>

#include "core/measures/preview.h"
#include "core/split/split.h"

namespace cleave {

// A note if starting on the other side would give fewer subgraphs; otherwise "".
std::string start_note(const Split& split);

// "host shapes: 31 nodes, 12 fewer subgraphs"; "" when the option is off.
std::string host_shapes_note(const Split& split, const SplitOptions& options);

// A note on parameters that exceed the accelerator's memory; "" if there are none. Placement does
// not look at memory.
std::string memory_note(const Preview& preview, const Machine& machine);

// A note on more accelerator partitions than the accelerator holds; "" if there are not.
std::string part_count_note(const Split& split, const Machine& machine);

}  // namespace cleave
