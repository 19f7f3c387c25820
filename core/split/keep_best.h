// Keep best: at most so many accelerator subgraphs, the most valuable ones.
//
// A subgraph is worth what it takes off the CPU less what the link asks for it:
//   time    seconds of its nodes on the CPU (measured in the file, else by the roofline: computing
//           or memory, whichever takes longer), less the seconds that its data is on the link
//   flops   its FLOPs, less what the CPU could compute in these seconds
//   nodes   its nodes; of equals, the one with fewer bytes over the link
//   latency microseconds that an inference takes more without it: its nodes' time on the CPU, less
//           their time on the accelerator, its launch, and its data on the link
// Data only crosses between a subgraph and the host, so that the worth of one does not depend on
// which others are kept, and the best K are the K best.
#pragma once

#include <cstdint>

#include "core/base/link.h"
#include "core/graph/graph.h"
#include "core/split/latency.h"
#include "core/split/options.h"
#include "core/split/subgraphs.h"

namespace cleave {

// What the cap takes away, beside the nodes' reasons. All 0 where nothing is over it.
struct CapCost {
  std::size_t kept = 0;       // accelerator subgraphs
  std::size_t subgraphs = 0;  // that went to the CPU, as do all numbers below
  std::size_t nodes = 0;
  double flops = 0;              // of nodes whose FLOPs are known
  std::uint64_t link_bytes = 0;  // that cross no more
};

struct KeptSubgraphs {
  Subgraphs subgraphs;
  PerNode<Reason> reasons;  // `over_cap` for those that came to the CPU now
  CapCost cost;
};

// By what subgraphs are judged.
struct KeepBasis {
  Link link = default_link();
  const LatencyInput* latency = nullptr;  // asked by KeepBy::latency and only_gaining
};

// Keeps the options.most best accelerator subgraphs, of equals those that come first; with
// only_gaining none whose latency gain is below 0. The others become CPU and CPU after CPU is
// merged. What there are not too many of comes back as it was. Linear but for sorting the
// subgraphs, and for rounds of dropping what gains nothing.
KeptSubgraphs keep_best_subgraphs(const Graph& graph, MergedSubgraphs found,
                                  const KeepOptions& options, const KeepBasis& basis);

// The minimum size of accelerator subgraphs with which an inference takes least; of equals the
// smallest, 1 at least. Tries each size that there is, at most 64 of them. Linear in each.
std::size_t fastest_min_size(const Graph& graph, const Subgraphs& subgraphs,
                             const LatencyInput& input);

}  // namespace cleave
