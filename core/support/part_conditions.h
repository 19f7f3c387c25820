// Part conditions: what a list asks of a whole accelerator partition ("part": {"min_ops": ...,
// "not_only": ...}).
#pragma once

#include <optional>
#include <span>

#include "core/graph/graph.h"
#include "core/support/reason.h"
#include "core/support/support_list.h"

namespace cleave {

// True when a list has such conditions.
bool have_part_conditions(std::span<const SupportList> lists);

// The first condition of a list that a partition of these nodes does not meet, as the reason
// `part_condition`; nullopt when it meets all. Linear in the nodes, times the conditions.
std::optional<Reason> failed_part_condition(const Graph& graph, std::span<const SupportList> lists,
                                            std::span<const NodeId> nodes);

}  // namespace cleave
