// Patterns of support lists in words: which match accepts a node, and why none does.
#pragma once

#include <optional>
#include <string>

#include "core/support/support.h"
#include "formats/report/words/reason_text.h"

namespace cleave {

// `pattern "layer norm" of npu.json:12`
std::string pattern_place(const SupportList& list, const Pattern& pattern);
std::string pattern_place(const ReasonContext& context, const PatternMatch& match);

// What is in the way of a pattern around a node with the reason pattern_failed: `value "d" is read
// by "y", which is not in it`. Empty when the context has no verdicts.
std::string pattern_miss_text(const ReasonContext& context, const Reason& reason);

// The matches by pattern, in the order of the lists: `"layer norm" 2 times`.
std::string pattern_counts_text(const ReasonContext& context, const PatternMatches& matches);

}  // namespace cleave
