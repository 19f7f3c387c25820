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
void add_bundle_option(CLI::App& app, PartFiles& files);

// --lift-state
void add_tflite_options(CLI::App& app, TfliteLift& lift);

}  // namespace cleave
