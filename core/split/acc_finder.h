// Acc finder: which of the supported nodes can really run on the accelerator.
//
// Non-tensor data must not cross between accelerator and CPU. So a supported node goes to the CPU
// when it reads a non-tensor made by a CPU node, or makes a non-tensor that a CPU node (or the
// graph's output) reads. Its neighbours are then judged again.
//
//   size (acc) -> int arithmetic (CPU)      =>  size goes to the CPU   (non_tensor_output)
//   item (CPU) -> full (acc)                =>  full goes to the CPU   (non_tensor_input)
#pragma once

#include "core/graph/graph.h"
#include "core/split/options.h"
#include "core/support/support.h"

namespace cleave {

struct AccNodes {
  NodeSet nodes;
  PerNode<Reason> reasons;  // of every node not in `nodes`
};

// Linear: each node is dropped at most once, and its operands and users are visited a constant
// number of times. Method: FX splitter, FxNetAccNodesFinder, with a worklist and counters instead
// of rescans.
AccNodes find_acc_nodes(const Graph& graph, const Support& support, const SplitOptions& options);

}  // namespace cleave
