// All files of costs that one command was given for a model.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/graph.h"
#include "core/graph/graph_builder.h"
#include "formats/costs/model_costs.h"

namespace cleave {

// Whose times a file has.
enum class CostTarget : std::uint8_t { cpu, acc };

// --costs [TARGET=]FILE
struct CostSource {
  CostTarget target = CostTarget::cpu;
  std::string path;
};

// "p.json" or "acc=p.json". A path that holds "=" behind something that is no target is a path.
CostSource cost_source_of(std::string_view text);

struct CostSet {
  std::vector<ModelCosts> cpu, acc;  // one a file, in the order given
  PerNode<double> cpu_us, acc_us;    // merged; below 0: not measured; empty: there is no file
  std::vector<ShapeOfValue> shapes;  // what the graph's values had before
  Diagnostics warnings = {};

  bool empty() const { return cpu.empty() && acc.empty(); }
};

// Reads the files and gives the graph the shapes that they saw, until exchange_observed_shapes().
Loaded<CostSet> read_cost_set(std::span<const CostSource> sources, Graph& graph);

// The graph with the shapes that it was read with: what is written of a model must fit any input.
// Called again, it gives the graph the observed shapes again.
void exchange_observed_shapes(Graph& graph, CostSet& costs);

}  // namespace cleave
