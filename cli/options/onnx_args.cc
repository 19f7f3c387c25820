#include "cli/options/onnx_args.h"

#include <CLI/CLI.hpp>

#include "cli/options/choice.h"

namespace cleave {

void add_onnx_options(CLI::App& app, OnnxWriteOptions& options) {
  add_choice(app, "--weights", options.root_weights,
             {{"external", RootWeights::external},
              {"inline", RootWeights::inlined},
              {"shared", RootWeights::shared},
              {"reference", RootWeights::reference}},
             "where the root has its weights: external (in the partitions' files next to it; the "
             "default of ONNX), inline (the default of torch.export), shared (all files refer to "
             "weights.bin, which has each weight once), or reference (all files refer to the "
             "model's; DIR must be its folder)");
  app.add_flag("--annotate", options.annotate,
               "also write annotated.onnx: the whole model, each node with its partition as "
               "layer_ann, by which ONNX Runtime can place it");
}

void add_bundle_option(CLI::App& app, PartFiles& files) {
  app.add_flag_callback(
      "--bundle", [&files] { files = PartFiles::bundle; },
      "write all partitions into one file, which has their weights once: bundle.pt2 for "
      "torch.export models, bundle.tflite for TensorFlow Lite models");
}

void add_tflite_options(CLI::App& app, TfliteLift& lift) {
  app.add_flag_callback(
      "--lift-state", [&lift] { lift = TfliteLift::all; },
      "variables are inputs and outputs of the partitions, and the caller keeps them, also those "
      "that one partition alone uses (TensorFlow Lite models)");
}

}  // namespace cleave
