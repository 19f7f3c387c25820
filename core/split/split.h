// split_graph: the main job, all passes in order. The page to read first is split.cc.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/link.h"
#include "core/base/progress.h"
#include "core/base/result.h"
#include "core/graph/graph.h"
#include "core/split/acc_finder.h"
#include "core/split/boundary.h"
#include "core/split/extend.h"
#include "core/split/fusion.h"
#include "core/split/keep_best.h"
#include "core/split/latency.h"
#include "core/split/limit_parts.h"
#include "core/split/node_groups.h"
#include "core/split/node_ties.h"
#include "core/split/options.h"
#include "core/split/partition.h"
#include "core/split/place.h"
#include "core/split/subgraphs.h"
#include "core/support/host_shapes.h"
#include "core/support/support.h"

namespace cleave {

// What the lists of one of several targets say, and why it does not run nodes.
struct TargetVerdicts {
  Support support;          // as if it were the only target; lists by their place in SplitInput
  PerNode<Reason> reasons;  // `none` for nodes that it runs, and for those that another took first
};

// What several targets would hold and run, where that is more than they can. By target.
struct Unfit {
  std::vector<std::uint64_t> bytes;  // at once
  std::vector<std::size_t> parts;
};

struct Split {
  Support support;         // the lists' verdicts; of several targets what any of them accepts
  HostShapes host_shapes;  // if enabled: shape computations, and verdicts with them moved
  AccNodes acc_found;      // after the acc finder
  QdqGroups qdq_groups;    // if enabled
  Fusions fusions;  // what moves as one; .acc is the remaining set, its reasons are in `reasons`
  std::optional<PlacementNumbers> placement;  // when nodes were placed by cost
  SubgraphsFound found;                       // before small ones were merged
  std::size_t min_acc_size = 1;               // the minimum that was used
  LimitCuts limit_cuts;                       // subgraphs beyond the lists' part limits
  std::size_t merged_count = 0;  // of subgraphs after small ones were merged and large ones cut
  std::size_t count_without_host_shapes = 0;  // if enabled: the same had no verdict been moved
  CapCost cap;                                // subgraphs that went to the CPU because of the limit
  PerNode<Reason> reasons;       // of every node that ends on the CPU; `none` for others
  std::vector<NodeId> extended;  // moved by the extension, model order
  std::vector<ExtensionLeftOut> extensions_left_out;  // because of the lists' part limits
  Partition partition;
  Boundaries boundaries;
  std::vector<TargetVerdicts> targets = {};  // by TargetId; empty: there is one accelerator
  // A bound, for several targets: with each node on the target that it has now, no split has fewer
  // accelerator parts. 0: not known.
  std::size_t least_acc_parts = 0;
  // Several targets placed by cost: what the goal would be if they were asked in order, in microseconds
  // or millijoules.
  std::optional<double> in_order_cost = {};
  // Several targets placed by cost: no placement keeps to their memory and numbers of parts.
  std::optional<Unfit> unfit = {};
};

// One of several accelerators.
struct Target {
  std::string name;                          // a lower-case word
  std::size_t first_list = 0, end_list = 0;  // its lists: SplitInput::lists[first_list, end_list)
  std::size_t min_acc_size = 1;              // smaller parts go to the next target that takes them
  std::size_t most_kept = SplitOptions::kUnlimited;  // parts; those worth least go on
  Link link = default_link();                        // between it and the CPU
};

// The graph to split, and the machine to split it for.
struct SplitInput {
  const Graph& graph;
  std::span<const SupportList> lists;
  const OpFacts& facts;
  Link link = default_link();          // used to value subgraphs: SplitOptions::keep_by
  const TargetTimes* times = nullptr;  // of nodes; null: the model's own, and the machine's rates
  const NodeSet* required = nullptr;   // nodes that PlaceBy::cost leaves on the accelerator
  // In the order in which they are asked. Fewer than two: all lists are of one accelerator.
  std::span<const Target> targets = {};
  FoundPlacements* found = nullptr;  // of PlaceBy::cost, by earlier splits; null: they are searched
};

// True when an option decides by the time of an inference.
bool asks_for_latency(const SplitOptions& options);

// The verdict on each node. Refuses lists with too many rules for one op.
Result<Support> judge_by_lists(const Graph& graph, std::span<const SupportList> lists,
                               const OpFacts& facts);

// Refuses only options that cannot be met: prefixes that give two partitions one name, an extension
// of a subgraph that does not exist or is not on the accelerator, a choice by times that are
// unknown. Linear, except for the moves that `automatic` extension tries and takes back. A split
// that divides a set of input.facts.whole is made again with these sets as groups.
Result<Split> split_graph(const SplitInput& input, const SplitOptions& options,
                          const Progress& progress = {});

}  // namespace cleave
