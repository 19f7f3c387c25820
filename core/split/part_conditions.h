// Part conditions: accelerator subgraphs that lack what a list asks of a whole partition ("part":
// {"min_ops": ..., "not_only": ...}) go to the CPU.
#pragma once

#include <optional>
#include <span>

#include "core/graph/graph.h"
#include "core/split/subgraphs.h"
#include "core/support/support_list.h"

namespace cleave {

// True when a list has such conditions.
bool have_part_conditions(std::span<const SupportList> lists);

// The first condition of a list that a partition of these nodes does not meet, as the reason
// `part_condition`; nullopt when it meets all. Linear in the nodes, times the conditions.
std::optional<Reason> failed_part_condition(const Graph& graph, std::span<const SupportList> lists,
                                            std::span<const NodeId> nodes);

// Puts the subgraphs that fail on the CPU, with their reason. Consecutive CPU subgraphs are merged.
// The same subgraphs if no list has conditions. Linear, times the conditions.
MergedSubgraphs drop_failing_parts(const Graph& graph, std::span<const SupportList> lists,
                                   MergedSubgraphs merged);

}  // namespace cleave
