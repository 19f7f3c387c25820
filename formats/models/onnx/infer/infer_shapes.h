// Types and shapes of an ONNX model's values: what the file states, and then (unless the user asks
// for less, see ShapeInference) what the ONNX library's schema functions infer, node by node,
// without weights.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/progress.h"
#include "core/condition/op_facts.h"
#include "formats/base/text/diagnostic.h"
#include "formats/models/bind/loaded_model.h"
#include "formats/models/onnx/index/links.h"
#include "formats/models/onnx/index/model.h"
#include "formats/models/onnx/index/type.h"
#include "formats/models/onnx/infer/elements.h"

namespace cleave {

// The types of bodies, by the address of the graph in the index.
struct OnnxBodyTypes;
using OnnxTypesOfBodies = std::unordered_map<const OnnxGraph*, std::unique_ptr<OnnxBodyTypes>>;

// Types of a body's own values, and of the bodies in it. Names are scoped: each body has its own
// table.
struct OnnxBodyTypes {
  std::unordered_map<std::string_view, const OnnxType*> types;
  OnnxTypesOfBodies bodies;
};

struct OnnxTypes {
  OnnxTypePool pool;                  // owns all types
  std::vector<const OnnxType*> main;  // of the main graph's values, by number: see OnnxValueNumbers
  OnnxTypesOfBodies bodies;
  std::vector<std::string> notes;         // values and nodes whose shape stays unknown, and why
  std::size_t misfits = 0;                // nodes and values whose shapes contradict each other
  std::vector<std::string_view> unknown;  // values of the main graph without a rank
  // Ifs of the main graph with a known condition, by index of the node: the branch that runs.
  std::vector<std::pair<std::uint32_t, const OnnxGraph*>> decided;
  // With Folding::write: the elements of the main graph's values, by number, if all of them are
  // known, and are integers or booleans.
  std::unordered_map<std::uint32_t, OnnxElements> known;
};

// Whether nodes of one kind whose inputs have the same types share what is inferred for the first of
// them. `none` infers each node by itself: types are the same, as a test holds it to.
enum class OnnxTypeReuse : std::uint8_t { by_kind, none };

// Errors: a binding that names no input or no symbol of the model, or contradicts the file. Linear,
// except for calls of the model's own functions, which are inferred call by call up to a limit.
Loaded<OnnxTypes> infer_onnx_types(const SourceFile& source, const OnnxModel& model,
                                   const OnnxLinks& links, const ShapeBindings& bindings,
                                   const Progress& progress = {},
                                   OnnxTypeReuse reuse = OnnxTypeReuse::by_kind);

}  // namespace cleave
