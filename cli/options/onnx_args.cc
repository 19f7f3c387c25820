#include "cli/options/onnx_args.h"

#include <CLI/CLI.hpp>

#include "cli/options/choice.h"

namespace cleave {

void add_onnx_options(CLI::App& app, OnnxWriteOptions& options) {
  add_choice(app, "--weights", options.root_weights,
             {{"external", RootWeights::external},
              {"inline", RootWeights::inlined},
              {"reference", RootWeights::reference}},
             "where root.onnx has its weights: external (in the part files beside it), inline, or "
             "reference (all files point to where the model has them; DIR must be its folder)");
  app.add_flag("--annotate", options.annotate,
               "write annotated.onnx, too: the whole model, each node with its partition as "
               "layer_ann, by which ONNX Runtime can place it");
}

}  // namespace cleave
