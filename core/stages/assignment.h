// Splits by a given node -> part map: a policy computed elsewhere, put into an order that runs.
//
//   a:0 -> b:1 -> c:0     part 0 needs part 1, which needs part 0: a cycle, refused
//   a:0 -> b:1 -> c:2     0, 1, 2
#pragma once

#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/graph/graph.h"
#include "core/split/node_ties.h"
#include "core/split/options.h"
#include "core/split/partition.h"

namespace cleave {

// Parts in the order in which their first nodes appear in the model; none is empty.
struct Assignment {
  PerNode<PartId> part_of;
  std::vector<std::string> names;  // by PartId
};

// Returns the parts in call order. Unless they keep their order of first appearance, roots are
// taken from the end of the list of ready parts, and parts that become ready are appended to it.
// Refuses parts that form a cycle, with one node edge for each step; when the order of appearance is
// kept, a part that needs a later one; and parts that divide a set of `ties`. Linear. Method: FX,
// split_module.
Result<Partition> order_parts(const Graph& graph, const Assignment& assignment,
                              const AssignmentOptions& options, const NodeTies& ties = {});

}  // namespace cleave
