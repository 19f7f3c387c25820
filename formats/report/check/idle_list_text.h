// Idle lists in words: lists that put no node on the accelerator, and what the model consists of.
#pragma once

#include "core/split/split.h"
#include "formats/text/diagnostic.h"

namespace cleave {

// One warning for each idle list, for the file as a whole.
Diagnostics idle_list_warnings(const SplitInput& input);

// One warning for each list of verdicts on nodes that the model does not have. Linear.
Diagnostics idle_verdict_warnings(const SplitInput& input);

}  // namespace cleave
