// Links and types of a model, with what they decide folded into it.
#pragma once

#include <string>
#include <vector>

#include "core/base/progress.h"
#include "formats/base/io/source_file.h"
#include "formats/base/text/diagnostic.h"
#include "formats/models/bind/shape_bindings.h"
#include "formats/models/onnx/index/links.h"
#include "formats/models/onnx/index/model.h"
#include "formats/models/onnx/infer/shapes.h"

namespace cleave {

struct OnnxInferred {
  OnnxLinks links;
  OnnxTypes types;
  std::vector<std::string> notes;  // about folding, for the report
};

// Links the model and infers its types; unless `bindings` say otherwise, folds it and begins anew
// until nothing more is decided. Each round opens one level of Ifs, of which a file has at most
// OnnxDeeper::kMaxDepth / 3. Errors: those of link_onnx_graph and infer_onnx_types. Linear for each
// round; a model in which nothing is decided has one.
Loaded<OnnxInferred> infer_folded_onnx(const SourceFile& source, OnnxModel& model,
                                       const ShapeBindings& bindings, const Progress& progress);

}  // namespace cleave
