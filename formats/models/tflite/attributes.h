// Attributes of operators: the fields of their options. A field that is not stored has its default,
// so every number has a value; vectors and strings may be absent. Values of enums are their names:
// "SAME".
#pragma once

#include "core/graph/graph_builder.h"
#include "formats/models/tflite/model.h"

namespace cleave {

// Adds the attributes of `op` to the node that the builder was given last.
void add_tflite_attributes(GraphBuilder& builder, const TfliteModel& model,
                           const TfliteOperator& op);

}  // namespace cleave
