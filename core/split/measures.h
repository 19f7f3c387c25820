// Measures: the few numbers of a split that gates and comparisons look at, free of any graph.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "core/graph/graph.h"
#include "core/split/boundary.h"
#include "core/split/partition.h"
#include "core/split/preview.h"

namespace cleave {

struct Measures {
  Coverage nodes;
  Coverage flops;  // of the nodes whose FLOPs are known
  Coverage parameter_bytes;
  std::size_t unknown_flops = 0;  // nodes without known FLOPs
  std::size_t acc_subgraphs = 0;
  std::size_t cpu_nodes = 0;
  std::uint64_t boundary_bytes = 0;  // in and out of accelerator parts, as far as sizes are known
  bool is_boundary_known = true;     // every tensor that enters or leaves one has a known size
  std::optional<double> qps = {};    // nothing: the link bounds no accelerator part
};

// Linear.
Measures measure(const Graph& graph, const Partition& partition, const Boundaries& boundaries,
                 const Preview& preview);

// Tensors of the graph (inputs and outputs of nodes) whose rank, or the size of a dim, is not
// known, in the order of their ids. A dim that has a name only is not known. Linear.
std::vector<ValueId> values_of_unknown_shape(const Graph& graph);

}  // namespace cleave
