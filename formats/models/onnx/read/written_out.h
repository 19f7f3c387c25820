// Reads an ONNX model with calls of its own functions replaced by their nodes.
#pragma once

#include "formats/models/onnx/read/reader.h"

namespace cleave {

// As read_onnx(); the notes name the functions whose calls stay: see formats/models/onnx/fold/functions.h.
Loaded<OnnxLoaded> read_onnx_written_out(const SourceFile& source, const ShapeBindings& bindings,
                                         const ModelLimits& limits);

}  // namespace cleave
