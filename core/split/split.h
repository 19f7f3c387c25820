// split_graph: the main job, all passes in order. The page to read first is split.cc.
#pragma once

#include <vector>

#include "core/base/progress.h"
#include "core/base/result.h"
#include "core/graph/graph.h"
#include "core/split/acc_finder.h"
#include "core/split/boundary.h"
#include "core/split/fusion.h"
#include "core/split/host_shapes.h"
#include "core/split/keep_best.h"
#include "core/split/options.h"
#include "core/split/partition.h"
#include "core/split/preview.h"
#include "core/split/qdq_groups.h"
#include "core/split/subgraphs.h"
#include "core/support/support.h"

namespace cleave {

struct Split {
  Support support;               // the lists' verdicts
  HostShapes host_shapes;        // when asked for: shape computations, and verdicts with them moved
  AccNodes acc_found;            // after the acc finder; its reasons have gone on to `reasons`
  QdqGroups qdq_groups;          // when asked for
  Fusions fusions;               // what moves as one; what is left of the set is .acc (likewise)
  SubgraphsFound found;          // before small ones were merged
  CapCost cap;                   // what went to the CPU for being over the number to keep
  PerNode<Reason> reasons;       // of every node that ends on the CPU; code none elsewhere
  std::vector<NodeId> extended;  // moved by the extension, model order
  Partition partition;
  Boundaries boundaries;
};

// Refuses only what the options ask in vain: an extension of a subgraph that is not there or is not
// on the accelerator. Linear, but for what `automatic` extension tries and takes back.
Result<Split> split_graph(const Graph& graph, const std::vector<SupportList>& lists,
                          const OpFacts& facts, const SplitOptions& options,
                          const Progress& progress = {});

}  // namespace cleave
