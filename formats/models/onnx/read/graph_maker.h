// Makes the graph that passes work on from the index of an ONNX file, its links and its types.
#pragma once

#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "formats/base/io/source_file.h"
#include "formats/base/text/diagnostic.h"
#include "formats/models/onnx/index/links.h"
#include "formats/models/onnx/index/model.h"
#include "formats/models/onnx/infer/shapes.h"

namespace cleave {

struct OnnxGraphMade {
  Graph graph;
  std::vector<Diagnostic> warnings;
  std::vector<std::string> notes;
};

// Also fills model.node_index, tensor_index and full_types. Linear.
Loaded<OnnxGraphMade> make_onnx_graph(const SourceFile& source, OnnxModel& model,
                                      const OnnxLinks& links, const OnnxTypes& types);

}  // namespace cleave
