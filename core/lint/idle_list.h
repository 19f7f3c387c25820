// Idle lists: lists that put no node on the accelerator, because no allow rule names an op of the
// model. Such a list is valid, but usually it is another model's, or empty by mistake.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/graph/graph.h"
#include "core/support/support_list.h"

namespace cleave {

struct UsedOp {
  std::string_view domain, op;  // of the graph
  std::size_t nodes = 0;
};

struct IdleList {
  std::uint16_t list;
  std::vector<UsedOp> ops;  // the model's most frequent ops, at most 3
};

// The idle lists in the order of `lists`; none for a graph without nodes. Linear in the nodes, plus
// rules times op types.
std::vector<IdleList> find_idle_lists(const Graph& graph, const std::vector<SupportList>& lists);

}  // namespace cleave
