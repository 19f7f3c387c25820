// What the inference functions of the ONNX library take for granted of a node: where it does not
// hold they read past dims and inputs, or do not come to an end. They were found by calls of every
// operator with types and attributes that do not fit, under sanitizers.
#pragma once

#include <string>

#include "formats/onnx/infer/op_call.h"

namespace onnx {
class OpSchema;
}

namespace cleave {

// Why the schema's function must not be called with the node; empty: it may be.
std::string fault_before_schema(const OnnxOpCall& call, const onnx::OpSchema& schema);

}  // namespace cleave
