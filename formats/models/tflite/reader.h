// Reads TensorFlow Lite models (.tflite) into graphs, without TensorFlow and without reading
// weights.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/base/progress.h"
#include "core/condition/op_facts.h"
#include "core/split/node_ties.h"
#include "formats/models/bind/loaded_model.h"
#include "formats/models/tflite/model.h"

namespace cleave {

struct TfliteLoaded {
  std::unique_ptr<TfliteModel, DeleteTfliteModel> model;
  Graph graph;
  std::vector<Diagnostic> warnings;
  std::vector<std::string> notes;
};

// Linear. The graph's names are views into `source` and the model. An operator's name is that of
// its first output; its op is the builtin's, "CONV_2D", in domain "tflite", or the custom code in
// domain "tflite.custom". `bindings` sets open dims: --dim N=8 the first axis of all values,
// --dim VALUE:AXIS=8 another; those that stay open keep the size in the file for bytes and FLOPs.
Loaded<TfliteLoaded> read_tflite(const SourceFile& source, const ShapeBindings& bindings,
                                 const ModelLimits& limits = {}, const Progress& progress = {});

// Nodes that must be in one partition: those that use variables or tables that cannot cross.
NodeTies tflite_ties(const TfliteModel& model);

// Elements of constants, variables, and nodes that belong together.
OpFacts tflite_op_facts(const TfliteModel& model);

}  // namespace cleave
