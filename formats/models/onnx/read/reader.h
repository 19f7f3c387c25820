// ONNX files: the index of the protobuf, and the graph made from it.
#pragma once

#include <memory>
#include <vector>

#include "core/base/progress.h"
#include "formats/base/text/diagnostic.h"
#include "formats/base/text/limits.h"
#include "formats/models/bind/loaded_model.h"
#include "formats/models/onnx/index/model.h"

namespace cleave {

struct OnnxLoaded {
  std::unique_ptr<OnnxModel, DeleteOnnxModel> model;
  Graph graph;
  std::vector<Diagnostic> warnings;
  std::vector<std::string> notes;
};

// Reads index, shapes and graph. Linear in the records of the file; does not read weights. Errors
// name the node: `m.onnx: node "x": reads "y", which nothing produces`.
Loaded<OnnxLoaded> read_onnx(const SourceFile& source, const ShapeBindings& bindings,
                             const ModelLimits& limits = {}, const Progress& progress = {});

}  // namespace cleave
