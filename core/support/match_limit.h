// A bound on the work of matching: lists of thousands of rules for one op that name conditions other
// than an attribute's values are held against each node of the op one by one.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/condition/op_facts.h"
#include "core/graph/graph.h"
#include "core/support/support.h"
#include "core/support/support_list.h"

namespace cleave {

// Rules that a split holds against nodes at most: a few seconds of work.
inline constexpr std::uint64_t kMostRuleChecks = 100'000'000;

// As match_support(); nullopt when rules would be held against nodes more than `most_checks` times.
std::optional<Support> match_support_within(const Graph& graph,
                                            const std::vector<SupportList>& lists,
                                            const OpFacts& facts, std::uint64_t most_checks);

}  // namespace cleave
