// The graph of a TensorFlow Lite model: the operators of its subgraph are nodes, named as their
// first output. What operators on variables do is expressed by values: the model takes the state as
// inputs, behind its own, and gives it back as outputs.
#pragma once

#include <map>
#include <string>

#include "core/base/progress.h"
#include "core/graph/graph_builder.h"
#include "formats/models/bind/shape_bindings.h"
#include "formats/models/tflite/model.h"

namespace cleave {

// Attributes of operators: the fields of their options. A field that is not stored has its default,
// so every number has a value; vectors and strings may be absent. Values of enums are their names:
// "SAME".

// Adds the attributes of `op` to the node that the builder was given last.
void add_tflite_attributes(GraphBuilder& builder, const TfliteModel& model,
                           const TfliteOperator& op);

struct TfliteGraph {
  Graph graph;
  // Symbols of dims that no binding fixes, with their sizes in the file: "N" for the first axis,
  // "VALUE:AXIS" for others.
  std::map<std::string, std::int64_t, std::less<>> traced;
};

// Needs the model's state and constants. Fills the model's tables between graph and file, and the shapes
// of tensors whose open dims are bound. The
// graph's names are views into the file and the model. Linear, if bodies are not shared by many
// operators; refuses models whose bodies would be more than 16 times the operators of the file.
Result<TfliteGraph, std::vector<GraphFault>> make_tflite_graph(TfliteModel& model,
                                                               ShapeBinder& binder,
                                                               const Progress& progress);

}  // namespace cleave
