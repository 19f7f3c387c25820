// The costs of a model's nodes from files: read, matched, and checked against the model.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/cost/target_times.h"
#include "core/graph/graph.h"
#include "formats/base/io/source_file.h"
#include "formats/lists/costs/cost_entries.h"
#include "formats/lists/costs/cost_match.h"
#include "formats/lists/costs/observed_shapes.h"

namespace cleave {

// The costs that one file has for a model.
struct ModelCosts {
  std::string path;
  CostFormat format = CostFormat::node_csv;
  std::size_t runs = 1;
  std::size_t kernels = 0;  // that ran outside bodies
  CostMatch match;
  std::vector<ObservedShape> shapes;
  std::vector<InputDim> dims = {};  // of the model's inputs, as the profile saw them
  std::size_t used_nodes = 0;       // nodes whose time no file before this one has
  std::size_t contradicted = 0;  // kernels whose shapes differ from the model's and were left out
  std::vector<OpTime> op_times = {};  // calibrated, sorted by op
  Diagnostics warnings = {};          // names in a hand-written file that are not nodes
};

// Refuses files that are not cost files, and files of another model: one that names no node of this
// model, or a profile whose shapes contradict the model (observed_shapes.h).
Loaded<ModelCosts> read_model_costs(const SourceFile& source, const Graph& graph);

// Microseconds by node from all files; if several measured a node, the first one counts, and the
// `used_nodes` of the files say how often. Below 0: not measured. Empty when there is no file.
PerNode<double> merge_times(std::span<ModelCosts> files);

// The unmatched time of the first profile of a whole model; nullopt when there is none.
std::optional<UnmatchedTime> unmatched_time(std::span<const ModelCosts> files);

}  // namespace cleave
