// ONNX files: the index of the protobuf, and the graph made from it.
#pragma once

#include <memory>
#include <vector>

#include "formats/model_file.h"
#include "formats/onnx/index/model.h"
#include "formats/text/diagnostic.h"

namespace cleave {

// True when the bytes may be an ONNX model: a protobuf whose first fields are a model's.
bool looks_like_onnx(std::string_view bytes);

struct OnnxLoaded {
  std::unique_ptr<OnnxModel> model;
  Graph graph;
  std::vector<Diagnostic> warnings;
  std::vector<std::string> notes;
};

// Index, shapes and graph. Linear in the records of the file; weights are not touched. Errors name
// the node: `m.onnx: node "x": reads "y", which nothing produces`.
Loaded<OnnxLoaded> read_onnx(const SourceFile& source, const ShapeBindings& bindings,
                             const ModelLimits& limits = {}, const Progress& progress = {});

// The index alone. Refuses: truncated or malformed protobuf, nesting deeper than 100, records past
// 4 GiB, no graph, what is beyond a limit.
Loaded<OnnxModel> index_onnx(const SourceFile& source, const ModelLimits& limits = {});

}  // namespace cleave
