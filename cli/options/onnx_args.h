// Options for writing ONNX and torch.export models.
#pragma once

#include "formats/models/onnx/write/writer.h"
#include "formats/models/pt2/write/writer.h"

namespace CLI {
class App;
}

namespace cleave {

// --weights, --annotate
void add_onnx_options(CLI::App& app, OnnxWriteOptions& options);

// --bundle
void add_pt2_options(CLI::App& app, Pt2Files& files);

}  // namespace cleave
