// Types and shapes of an ONNX model's values: what the file states first, then (unless the user
// asks for less, see ShapeInference) the ONNX library's schema functions, one node at a time, on a
// skeleton of the model without weights.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/progress.h"
#include "core/support/op_facts.h"
#include "formats/model/loaded_model.h"
#include "formats/onnx/index/links.h"
#include "formats/onnx/index/model.h"
#include "formats/onnx/index/type_pool.h"
#include "formats/text/diagnostic.h"

namespace cleave {

// By the graph's address in the index.
struct OnnxBodyTypes;
using OnnxTypesOfBodies = std::unordered_map<const OnnxGraph*, std::unique_ptr<OnnxBodyTypes>>;

// Types of a body's own values, and of the bodies in it. Names are scoped: each has its own table.
struct OnnxBodyTypes {
  std::unordered_map<std::string_view, const OnnxType*> types;
  OnnxTypesOfBodies bodies;
};

struct OnnxTypes {
  OnnxTypePool pool;                  // keeps them all
  std::vector<const OnnxType*> main;  // of the main graph's values, by number: see OnnxValueNumbers
  OnnxTypesOfBodies bodies;
  std::vector<std::string> notes;         // values and nodes whose shape stays unknown, and why
  std::vector<std::string> unbound;       // bindings that are for another of several models
  std::vector<std::string_view> unknown;  // values of the main graph without a rank
};

// Errors: a binding that names no input or no symbol of the model, or contradicts the file. Linear
// but for calls of the model's own functions, which are inferred call by call up to a limit.
Loaded<OnnxTypes> infer_onnx_types(const SourceFile& source, const OnnxModel& model,
                                   const OnnxLinks& links, const ShapeBindings& bindings,
                                   const Progress& progress = {});

}  // namespace cleave
