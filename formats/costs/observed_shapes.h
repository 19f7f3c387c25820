// Shapes that a profile recorded at run time. They bind unknown dims of the model, value by value,
// and reveal a profile of another model or another input.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "formats/costs/cost_entries.h"
#include "formats/costs/cost_match.h"

namespace cleave {

struct ObservedShape {
  ValueId value;
  ObservedDims dims;
};

// A kernel whose output or input differs from its node's in the model.
struct ShapeContradiction {
  std::uint64_t offset = 0;  // of the kernel in the file
  std::string message;
};

struct ObservedShapes {
  std::vector<ObservedShape> shapes;                // of values with an unknown dim, each once
  std::optional<ShapeContradiction> contradiction;  // the first one
};

// Considers kernels matched by the node's name or its output's, with the node's op: others may be
// fused and have other outputs. Dims in another order than the model's (a runtime may change
// layouts) and channels padded to blocks are no contradiction, and bind no dim. Linear.
ObservedShapes observe_shapes(const CostEntries& file, const CostMatch& match, const Graph& graph);

}  // namespace cleave
