// ONNX models for tests, written in the ONNX library's text form:
//
//   <ir_version: 8, opset_import: ["" : 17]>
//   g (float[N, 4] x) => (float[N, 2] y) <float[4, 2] w = {...}> { y = MatMul(x, w) }
#pragma once

#include <functional>
#include <string>

#include <onnx/onnx_pb.h>

#include "formats/base/files.h"

namespace cleave {

using ModelEdit = std::function<void(onnx::ModelProto&)>;

// The bytes of the model; `edit` adds what the text form cannot express. Fails the test when the
// text is invalid.
std::string onnx_bytes(const std::string& text, const ModelEdit& edit = nullptr);

// The model as if read from "m.onnx". `graph` is the text of the graph alone: opset 17, IR 8.
SourceFile onnx_file(const std::string& graph, const ModelEdit& edit = nullptr);

}  // namespace cleave
