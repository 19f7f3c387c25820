// Shapes inside a piece, as a run of the reference has them: of the values between its nodes, and of
// what the bodies of Loop and Scan take and give. Some compilers do not infer these themselves, and
// refuse an operator for it that they take when they are written down.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "formats/base/text/fault.h"
#include "formats/models/open_shapes.h"
#include "formats/run/lowering/reference_run.h"

namespace cleave {

struct InnerShapes {
  // By place; nullopt: it stays as it is.
  struct Body {
    std::vector<std::optional<Sizes>> inputs, outputs;
  };
  std::map<std::string, std::string> types;  // by value made in the piece: its TypeProto
  std::map<std::string, Body> bodies;        // by the first output of the node

  bool is_empty() const { return types.empty() && bodies.empty(); }
};

// Empty when all shapes are known and no node has a body: what is behind one, compilers may not see. Left
// out are shapes that depend on elements (NonZero and the like), and the branches of an If, of which the
// run took one. Linear in the nodes' operands.
InnerShapes inner_shapes(const Graph& graph, std::span<const NodeId> nodes,
                         const ReferenceRun& run);

// Writes the model at `from` to `to` with these shapes; what else it states of values inside is left
// out. Linear in the bytes.
Status<Fault> write_inner_shapes(const std::string& from, const std::string& to,
                                 const InnerShapes& shapes);

}  // namespace cleave
