// Constraints on a split besides the flow of data. Operators that write memory in place must run
// before or after those that read it; passes find that order in the graph (Graph::followers). Nodes that view memory which is written must be in one
// partition, since a partition gets copies of the values of others.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/graph/graph.h"
#include "core/split/fusion.h"
#include "core/split/partition.h"

namespace cleave {

struct NodeTies {
  std::vector<RunOrder> order;
  std::vector<std::vector<NodeId>> whole;  // sets of nodes that must be in one partition
  std::string way_out;  // what the user can do about them; "" if there is no remedy
  std::vector<std::string> causes = {};  // by set, "nodes that ..."; empty: memory that they write
};

// True if nodes of one set are in several parts. `part_of` is any numbering of parts. Linear.
bool divides_a_set(std::span<const std::vector<NodeId>> sets, const PerNode<PartId>& part_of);

// `fusions` with each set a group, too, on the accelerator if all its nodes can be there, else on
// the CPU (reason `shared_memory`). Sets grow to be convex and free of cycles with other groups.
Fusions keep_sets_whole(const Graph& graph, std::span<const std::vector<NodeId>> sets,
                        Fusions fusions);

// Refuses a split that has nodes of one set in several partitions; names the partitions and up to
// six of the nodes. Linear in the sets.
Status<> check_whole(const Graph& graph, const Partition& partition, const NodeTies& ties);

}  // namespace cleave
