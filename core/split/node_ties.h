// What must be kept beside the flow of data when a model is divided. Operators that write memory in
// place must run before or after those that read it; nodes that view memory which is written must
// be in one part, since a part gets copies of the others' values.
#pragma once

#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/graph/graph.h"
#include "core/split/partition.h"

namespace cleave {

struct NodeTies {
  struct Order {
    NodeId before, after;
  };
  std::vector<Order> order;
  std::vector<std::vector<NodeId>> whole;  // sets of nodes that must be in one part
  std::string way_out;  // what the user can do about them; "" where nothing helps
};

// Refuses a partition that has nodes of one set in several parts; names the parts and up to six of
// the nodes. Linear in the sets.
Status<> check_whole(const Graph& graph, const Partition& partition, const NodeTies& ties);

}  // namespace cleave
