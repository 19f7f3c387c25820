// Types and shapes of an ONNX model's values: what the file states first, then (unless the user
// asks for less, see ShapeInference) the ONNX library's schema functions, one node at a time, on a
// skeleton of the model without weights.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/support.h"
#include "formats/diagnostic.h"
#include "formats/model_file.h"
#include "formats/onnx_model.h"
#include "formats/onnx_type.h"

namespace cleave {

// Types of the values of one graph, and of the graphs inside it. Names are scoped: a body's own
// values stand in its own table.
struct OnnxScopeTypes {
  std::unordered_map<std::string_view, OnnxType> types;
  // Bodies: by the graph's address in the index.
  std::unordered_map<const OnnxGraph*, std::unique_ptr<OnnxScopeTypes>> bodies;
};

struct OnnxTypes {
  OnnxScopeTypes main;
  std::vector<std::string> notes;         // values and nodes whose shape stays unknown, and why
  std::vector<std::string_view> unknown;  // values of the main graph without a rank
};

// Nodes must be given in topological order (indices into model.graph.nodes). Errors: a binding that
// names no input or no symbol of the model, or contradicts the file. Linear but for calls of the
// model's own functions, which are inferred call by call up to a limit.
Loaded<OnnxTypes> infer_onnx_types(const SourceFile& source, const OnnxModel& model,
                                   const std::vector<std::uint32_t>& order,
                                   const ShapeBindings& bindings, const Progress& progress = {});

// Facts from the ONNX schema registry: attribute defaults, schema versions.
OpFacts onnx_op_facts();

}  // namespace cleave
