// Shapes that a profile recorded at run time. They bind unknown dims of the model, value by value,
// give sizes to the dims of its inputs, and reveal a profile of another model or another input.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "formats/lists/costs/cost_entries.h"
#include "formats/lists/costs/cost_match.h"

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

// The size of a dim of the model's inputs at run time. The name is what --dim takes: "batch", or
// "x:0" for an axis without a name.
struct InputDim {
  std::string name;
  std::int64_t size = 0;
};

struct ObservedShapes {
  std::vector<ObservedShape> shapes;  // of values with an unknown dim, each once
  std::vector<InputDim> dims;         // in the order of the inputs, each once
  // Dims for which kernels saw different sizes; they are not in `dims`.
  std::vector<std::string> conflicting_dims;
  std::size_t contradicted = 0;  // kernels with another shape than the model
  // The first contradiction, if the profile is of another model or another input: an input of the model
  // differs, or kernels with over a tenth of the compared time do. A runtime that rewrites a few
  // nodes and keeps their names stays below that.
  std::optional<ShapeContradiction> contradiction;
};

// Shapes and contradictions come from kernels matched by the node's name or its output's, with the
// node's op: others may be fused and have other outputs. Dims of inputs come also from kernels with
// additions to these names, if the kernel's op fits that of a node that reads an input. Dims in
// another order than the model's (a runtime may change layouts) and channels padded to blocks are
// no contradiction, and bind no dim. Linear.
ObservedShapes observe_shapes(const CostEntries& file, const CostMatch& match, const Graph& graph);

}  // namespace cleave
