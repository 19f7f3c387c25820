// What the nodes of a program are to its graph:
//
//   node      what a split puts on one side or the other
//   constant  computes on parameters alone, as w.t() or a norm's sqrt(var + eps): each partition that
//             reads its result has a copy, so that no weight crosses between partitions
//   check     asserts something of values (_assert_tensor_metadata, _assert_scalar), or is read by
//             such a node alone: it goes where its values are made, and costs nothing
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/graph/graph.h"
#include "formats/models/pt2/effects.h"
#include "formats/models/pt2/program.h"

namespace cleave {

enum class Pt2Role : std::uint8_t { node, constant, check };

// Whether an operator only asserts something of what it reads.
bool is_check(std::string_view target);

// By node. `is_written` says by value whether the program writes the input. Linear.
std::vector<Pt2Role> find_roles(const Pt2Program& program, const Pt2Effects& effects,
                                const std::vector<bool>& is_written);

// By node of the program: its id in the graph; kNone for a check. Ids of constants come after those of
// nodes.
std::vector<NodeId> graph_ids(const std::vector<Pt2Role>& roles);

}  // namespace cleave
