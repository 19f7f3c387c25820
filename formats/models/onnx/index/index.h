// The index of an ONNX file: one walk over its protobuf that keeps views of the records.
#pragma once

#include <string_view>

#include "formats/base/io/source_file.h"
#include "formats/base/text/diagnostic.h"
#include "formats/base/text/limits.h"
#include "formats/models/onnx/index/model.h"

namespace cleave {

// Refuses truncated or malformed protobuf, nesting deeper than 100, records above 4 GiB, a model
// without a graph, and anything beyond a limit. Linear in the records; does not read weights.
Loaded<OnnxModel> index_onnx(const SourceFile& source, const ModelLimits& limits = {});

// A node of a record that was made of checked ones: no limit applies.
OnnxNode index_onnx_node(OnnxRecord record);

// Whether a file may be ONNX, judged by its first fields.

// True when the bytes may be an ONNX model: a protobuf whose first fields are a model's.
bool looks_like_onnx(std::string_view bytes);

}  // namespace cleave
