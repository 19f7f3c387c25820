// Warnings on support lists that hardly fit the model: lists that put no node on the accelerator, rules
// that name no op of it, verdicts on nodes that it does not have.
#pragma once

#include <string_view>
#include <vector>

#include "core/split/split.h"
#include "formats/base/text/diagnostic.h"

namespace cleave {

// One warning for each idle list, for the file as a whole.
Diagnostics idle_list_warnings(const SplitInput& input);

// The end of the names of lists that `cleave lower` writes.
inline constexpr std::string_view kLearnedSuffix = " (learned)";

// A warning for each list that `cleave lower` learned and that is given beside others: what it
// denies, another list may accept.
Diagnostics overruled_list_warnings(const std::vector<SupportList>& lists);

// One warning for each list of verdicts on nodes that the model does not have. Linear.
Diagnostics idle_verdict_warnings(const SplitInput& input);

// One warning for each near miss, at the position of the rule.
Diagnostics near_miss_warnings(const SplitInput& input);

}  // namespace cleave
