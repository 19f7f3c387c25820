// A limit on the work of matching. A list may have thousands of rules for one op, which must be
// checked one by one on each node of the op, unless they ask for an attribute's value.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/condition/op_facts.h"
#include "core/graph/graph.h"
#include "core/support/support.h"
#include "core/support/support_list.h"

namespace cleave {

// The most checks of a rule on a node in one split: a few seconds of work.
inline constexpr std::uint64_t kMostRuleChecks = 100'000'000;

// The same as match_support(); nullopt when it would check rules on nodes more than `most_checks`
// times. Steps of the search for patterns count as checks.
std::optional<Support> match_support_within(const Graph& graph,
                                            const std::vector<SupportList>& lists,
                                            const OpFacts& facts, std::uint64_t most_checks);

}  // namespace cleave
