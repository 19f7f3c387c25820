// Constraints on a split besides the flow of data. Operators that write memory in place must run
// before or after those that read it. Nodes that view memory which is written must be in one
// partition, since a partition gets copies of the values of others.
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
  std::vector<std::vector<NodeId>> whole;  // sets of nodes that must be in one partition
  std::string way_out;  // what the user can do about them; "" if there is no remedy
};

// Refuses a split that has nodes of one set in several partitions; names the partitions and up to
// six of the nodes. Linear in the sets.
Status<> check_whole(const Graph& graph, const Partition& partition, const NodeTies& ties);

}  // namespace cleave
