// Assumptions that the inference functions of the ONNX library make about a node. If one is
// violated, they read beyond dims and inputs, or do not end. The assumptions were found by calling
// every operator with types and attributes that do not fit, under sanitizers.
#pragma once

#include <string>

#include "formats/models/onnx/infer/op_call.h"

namespace onnx {
class OpSchema;
}

namespace cleave {

// Why the schema's function must not be called for the node; empty: it may be.
std::string fault_before_schema(const OnnxOpCall& call, const onnx::OpSchema& schema);

}  // namespace cleave
