// Measures: the few numbers of a split that gates and comparisons use, independent of any graph.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "core/measures/preview.h"
#include "core/split/boundary.h"
#include "core/split/partition.h"
#include "core/split/split.h"

namespace cleave {

// One of several targets: its share of the model.
struct TargetMeasures {
  std::string name;
  Coverage nodes;
  Coverage flops;
  Coverage parameter_bytes;
  std::size_t parts = 0;
};

struct Measures {
  Coverage nodes;
  FlopsCoverage flops;  // where they are not known, neither is the share of a target
  Coverage parameter_bytes;
  std::size_t acc_subgraphs = 0;
  std::size_t cpu_nodes = 0;
  // in and out of accelerator parts, of the tensors with known sizes
  std::uint64_t boundary_bytes = 0;
  bool is_boundary_known = true;  // every tensor that enters or leaves one has a known size
  // That the link allows when all parts share it; nullopt: it bounds no accelerator part.
  std::optional<double> qps = {};
  std::optional<double> latency_us = {};  // of one inference; nullopt: unknown
  std::optional<double> all_cpu_us = {};  // without an accelerator; nullopt: unknown
  // Of profiles' kernels that match no node; both figures may lack up to the CPU's.
  double cpu_unmatched_us = 0;
  double acc_unmatched_us = 0;
  std::vector<TargetMeasures> targets = {};  // of several, in the order in which they are asked

  // False: of no tensor that enters or leaves an accelerator part is the size known.
  bool is_any_boundary_known() const { return boundary_bytes > 0 || is_boundary_known; }
};

// Linear.
Measures measure(const Graph& graph, const Partition& partition, const Boundaries& boundaries,
                 const Preview& preview, std::span<const Target> targets = {});

// Tensors of the graph (inputs and outputs of nodes) whose rank, or the size of a dim, is unknown,
// in the order of their ids. A symbolic dim is unknown. Linear.
std::vector<ValueId> values_of_unknown_shape(const Graph& graph);

}  // namespace cleave
