// The constraints that a model puts on its split besides the flow of data (core/split/node_ties.h).
#pragma once

#include "core/split/node_ties.h"
#include "formats/models/bind/loaded_model.h"

namespace cleave {

// Of operators of torch.export programs that write in place, of variables of TensorFlow Lite, and of
// ONNX nodes that share a compiled context; other models have no ties.
NodeTies model_ties(const LoadedModel& model);

}  // namespace cleave
