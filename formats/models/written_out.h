// An ONNX model with calls of its own functions replaced by their nodes.
#pragma once

#include "formats/models/bind/loaded_model.h"
#include "formats/models/bind/shape_bindings.h"

namespace cleave {

// Reads the file of an ONNX model again, so; standard input, too. Calls that stay are named in the notes.
Loaded<LoadedModel> read_written_out(const LoadedModel& model, const ShapeBindings& bindings);

}  // namespace cleave
