// All cost files that a command was given for a model.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/graph.h"
#include "formats/costs/model_costs.h"

namespace cleave {

// The device whose times a file has.
enum class CostTarget : std::uint8_t { cpu, acc };

// --costs [TARGET=]FILE
struct CostSource {
  CostTarget target = CostTarget::cpu;
  std::string path;
};

// Parses "p.json" or "acc=p.json". If the part before "=" is not a target, the whole text is a
// path.
CostSource cost_source_of(std::string_view text);

struct CostSet {
  std::vector<ModelCosts> cpu, acc;  // one per file, in the given order
  PerNode<double> cpu_us, acc_us;    // merged; below 0: not measured; empty: no file
  Diagnostics warnings = {};

  bool empty() const { return cpu.empty() && acc.empty(); }
};

// Reads the files. Refuses all when one of them cannot be read, or belongs to another model.
Loaded<CostSet> read_cost_set(std::span<const CostSource> sources, const Graph& graph);

}  // namespace cleave
