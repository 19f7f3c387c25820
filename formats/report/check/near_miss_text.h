// Near misses in words: rules that name no op of the model, and the op that they may mean.
#pragma once

#include "core/split/split.h"
#include "formats/base/text/diagnostic.h"

namespace cleave {

// One warning for each near miss, at the position of the rule.
Diagnostics near_miss_warnings(const SplitInput& input);

}  // namespace cleave
