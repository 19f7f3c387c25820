// Lists that can put nothing on the accelerator: no allow rule names an op of the model. Such a
// list is valid, but more often than not it is another model's, or empty by mistake.
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
  std::vector<UsedOp> ops;  // the model's most used, the most frequent first, at most 3
};

// In the order of the lists; none of a graph without nodes. Linear in the nodes, then rules times
// op types.
std::vector<IdleList> find_idle_lists(const Graph& graph, const std::vector<SupportList>& lists);

}  // namespace cleave
