// Options for writing ONNX, torch.export and TensorFlow Lite models.
#pragma once

#include "formats/models/onnx/write/writer.h"
#include "formats/models/pt2/write/writer.h"
#include "formats/models/tflite/write/writer.h"

namespace CLI {
class App;
}

namespace cleave {

// --weights, --annotate
void add_onnx_options(CLI::App& app, OnnxWriteOptions& options);

// --bundle
void add_pt2_options(CLI::App& app, Pt2Files& files);

// --lift-state
void add_tflite_options(CLI::App& app, TfliteLift& lift);

}  // namespace cleave
