// Subgraphs: the graph as an alternating list of accelerator and CPU runs, each as long as
// possible.
//
// In the current mode take every node that is ready, until none is left; then flip. A fusion group
// counts as one node: all its members wait for everything that any of them waits for.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/result.h"
#include "core/graph/graph.h"
#include "core/split/fusion.h"
#include "core/split/options.h"

namespace cleave {

enum class Device : std::uint8_t { cpu, acc };

// One of several accelerators, in the order in which they are asked.
enum class TargetId : std::uint32_t {};

// Subgraphs in execution order. Within one, nodes keep the model's order.
struct Subgraphs {
  PerNode<PartId> subgraph_of;
  std::vector<Device> devices;
  std::vector<std::uint32_t> sizes;  // nodes of each
  // Of each; kNone on the CPU. Empty: there is one accelerator.
  std::vector<TargetId> targets = {};

  std::size_t count() const { return devices.size(); }
};

struct SubgraphsFound {
  Subgraphs subgraphs;
  // The number of subgraphs when starting on the other side (never fewer when `start` is `fewest`).
  std::size_t count_from_other_side = 0;
};

// Linear. An empty graph gives no subgraphs. Method: FX splitter, put_nodes_into_subgraphs, with
// ready queues and dependency counters; a node without inputs may start, unlike there.
SubgraphsFound split_subgraphs(const Graph& graph, const Fusions& fusions,
                               const SplitOptions& options);

struct MergedSubgraphs {
  Subgraphs subgraphs;
  PerNode<Reason> reasons;  // of every node on the CPU; `small_subgraph` for nodes that moved here
};

// Appends accelerator subgraphs with fewer than options.min_acc_size nodes to the subgraph before,
// whatever its kind; the first subgraph becomes CPU instead. Consecutive CPU subgraphs are merged.
// Linear. Method: FX splitter, remove_small_acc_subgraphs.
MergedSubgraphs merge_small_subgraphs(const Graph& graph, const Subgraphs& subgraphs,
                                      PerNode<Reason> reasons, const SplitOptions& options);

// The same with consecutive CPU subgraphs as one. Linear.
Subgraphs with_cpu_neighbours_merged(const Subgraphs& subgraphs);

// Non-tensor moves (--move-non-tensor): where non-tensor data may cross, a node that makes some for
// another subgraph moves there, so that it does not cross after all.
//
//   acc_0: a -> split -> b       split makes a list that cpu_1 reads, too
//   cpu_1:          \-> c        => split and b move to cpu_1
//
// A node that makes a non-tensor moves from an accelerator subgraph when its readers outside are all
// in one other subgraph, with everything in its own subgraph that depends on it, if none of that has
// readers elsewhere. Then the nodes that make the non-tensors it reads are looked at.
// Method: FX splitter, move_non_tensor_nodes_on_boundary; but a fusion group stays where it is.
struct NonTensorsMoved {
  Fusions
      fusions;  // nodes that moved to a CPU subgraph have left the accelerator set, with a reason
  Subgraphs subgraphs;  // some may be empty
};

// Linear in the graph for each node that is looked at.
NonTensorsMoved move_non_tensor_nodes(const Graph& graph, Fusions fusions, Subgraphs subgraphs);

}  // namespace cleave
