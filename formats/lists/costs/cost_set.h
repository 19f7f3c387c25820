// All cost files that a command was given for a model.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/cost/target_times.h"
#include "core/graph/graph.h"
#include "formats/lists/costs/model_costs.h"

namespace cleave {

// The device whose times a file has.
enum class CostTarget : std::uint8_t { cpu, acc };

// --costs [TARGET=]FILE
struct CostSource {
  CostTarget target = CostTarget::cpu;
  std::string path;
  std::size_t which = 0;  // of several targets
};

// Parses "p.json", "acc=p.json", or "npu=p.json" where npu is one of `targets`. If the part before "="
// is not a target, the whole text is a path.
CostSource cost_source_of(std::string_view text, std::span<const std::string> targets = {});

// A file of --costs that was opened.
struct OpenCosts {
  CostTarget target = CostTarget::cpu;
  SourceFile file;
  std::size_t which = 0;  // of several targets
};

// The files of one of several targets, but for the first.
struct TargetCosts {
  std::vector<ModelCosts> files;
  PerNode<double> us;
  std::vector<OpTime> ops;
};

struct CostSet {
  std::vector<ModelCosts> cpu, acc;      // one a file, in the order given
  PerNode<double> cpu_us, acc_us;        // merged; below 0: not measured; empty: there is no file
  std::vector<OpTime> cpu_ops, acc_ops;  // calibrated, of the first file that has any
  std::vector<ObservedShape> inferred = {};  // follow from the dims of inputs that the files saw
  Diagnostics warnings = {};
  std::vector<TargetCosts> later = {};  // of several targets: those after the first, which is `acc`

  bool empty() const { return cpu.empty() && acc.empty() && later.empty(); }
};

// The times of nodes on a machine, and the time of profiles that no node includes. Estimates beside
// a profile of the whole model share what it leaves.
struct MeasuredTargets {
  TargetTimes times;
  UnmatchedTime cpu_unmatched = {};
  UnmatchedTime acc_unmatched = {};
};
// `later`: of several targets, with the others instead of the first.
MeasuredTargets measured_targets(const Graph& graph, const Machine& machine, const CostSet& costs,
                                 std::span<const Machine> later = {});

Loaded<std::vector<OpenCosts>> open_costs(std::span<const CostSource> sources);

// Reads the files. Refuses all of them when one cannot be read, or belongs to another model.
Loaded<CostSet> read_cost_set(std::span<const OpenCosts> files, const Graph& graph);
Loaded<CostSet> read_cost_set(std::span<const CostSource> sources, const Graph& graph);

// Shapes of values that have unknown dims in the model: those in `inferred`, else those that the
// files saw at run time. Passes get the graph with them. A written model must fit any input, so
// writers get the model, whose graph has the declared shapes.
ShapeOverlay observed_shapes(const CostSet& costs);

}  // namespace cleave
