// Names that an ONNX file gives: made unique where they must be, and read for the module scope.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/graph_builder.h"
#include "formats/onnx_model.h"

namespace cleave {

// A name for each node of the main graph: the file's, or where it gives none `<op>_<index>`, and
// where a name was there before `<name>_<index>`; never two alike. Tells in `notes` how many.
std::vector<std::string_view> unique_node_names(const OnnxGraph& graph, GraphBuilder& builder,
                                                std::vector<std::string>& notes);

// The dotted path of the module that the node came from: as the exporter noted it, else from a name
// that is a path. `/encoder/layer.0/attn/MatMul` is of `encoder.layer.0.attn`.
std::string onnx_scope(const OnnxNode& node);

}  // namespace cleave
