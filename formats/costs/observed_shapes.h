// Shapes that a profile saw at run time: they bind dims of the model that are not known, value by
// value, and show when the profile is of another model or another input.
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

// A kernel that made, or read, something else than its node does in the model.
struct ShapeContradiction {
  std::uint64_t offset = 0;  // of the kernel in the file
  std::string message;
};

struct ObservedShapes {
  std::vector<ObservedShape> shapes;  // of values with a dim that was not known, each once
  std::optional<ShapeContradiction> contradiction;  // the first one
};

// Looks at kernels that go by their node, or by its output, and have its op: others may be fused,
// and make something else. Dims in another order than the model's (a runtime may change layouts) and
// channels that were padded to blocks are not held against it, and bind nothing. Linear.
ObservedShapes observe_shapes(const CostEntries& file, const CostMatch& match, const Graph& graph);

}  // namespace cleave
