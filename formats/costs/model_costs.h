// Costs of a model's nodes from files: read, matched, and held against the model.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "formats/costs/cost_entries.h"
#include "formats/costs/cost_match.h"
#include "formats/costs/observed_shapes.h"
#include "formats/io/source_file.h"

namespace cleave {

// What one file says of a model.
struct ModelCosts {
  std::string path;
  CostFormat format = CostFormat::node_csv;
  std::size_t runs = 1;
  std::size_t kernels = 0;  // that ran outside bodies
  CostMatch match;
  std::vector<ObservedShape> shapes;
  Diagnostics warnings = {};  // names that are no nodes, of a file that someone wrote
};

// Refuses, beside what is no such file, a file of another model: one that names no node of this
// one, or a profile in which a node made something else.
Loaded<ModelCosts> read_model_costs(const SourceFile& source, const Graph& graph);

// Microseconds by node from all of the files: where several measured a node, the first one counts.
// Below 0: none did. Empty when there is no file.
PerNode<double> merged_times(std::span<const ModelCosts> files);

}  // namespace cleave
