// Keep best: keeps at most a given number of accelerator subgraphs, the most valuable ones.
//
// The value of a subgraph is the CPU time it saves minus the time it takes on the link:
//   time    seconds of its nodes on the CPU (measured in the file, else by the roofline: computing
//           or memory, whichever takes longer), less the seconds that its data is on the link
//   flops   its FLOPs, less what the CPU could compute in these seconds
//   nodes   its nodes; of equals, the one with fewer bytes over the link
//   latency microseconds that it saves per inference: its nodes' time on the CPU, less their
//           time on the accelerator, its launch, and its data on the link
// Data only crosses between a subgraph and the host. So the value of one does not depend on which
// others are kept, and the best K are those with the greatest values.
#pragma once

#include <cstdint>

#include "core/base/link.h"
#include "core/graph/graph.h"
#include "core/split/latency.h"
#include "core/split/options.h"
#include "core/split/subgraphs.h"

namespace cleave {

// What the limit costs, besides the nodes' reasons. All 0 when no subgraph is over it.
struct CapCost {
  std::size_t kept = 0;       // accelerator subgraphs
  std::size_t subgraphs = 0;  // those moved to the CPU; the fields below count only them
  std::size_t nodes = 0;
  double flops = 0;              // of nodes whose FLOPs are known
  std::uint64_t link_bytes = 0;  // that no longer cross
};

struct KeptSubgraphs {
  Subgraphs subgraphs;
  PerNode<Reason> reasons;  // `over_cap` for nodes that moved to the CPU here
  CapCost cost;
};

// The numbers by which subgraphs are judged.
struct KeepBasis {
  Link link = default_link();
  const LatencyInput* latency = nullptr;  // needed by KeepBy::latency and only_gaining
};

// Keeps the options.most_kept best accelerator subgraphs, of equals the first ones; with keep_only_gaining
// none whose latency gain is below 0. The others become CPU, and consecutive CPU subgraphs are
// merged. If none is over the limit, returns `found` unchanged. Linear, plus sorting the subgraphs,
// and rounds of dropping those that do not gain.
KeptSubgraphs keep_best_subgraphs(const Graph& graph, MergedSubgraphs found,
                                  const SplitOptions& options, const KeepBasis& basis);

// The minimum size of accelerator subgraphs with the least time of an inference; of equals the
// smallest, at least 1. Tries each size that occurs, at most 64 of them. Linear for each.
std::size_t fastest_min_size(const Graph& graph, const Subgraphs& subgraphs,
                             const LatencyInput& input);

}  // namespace cleave
