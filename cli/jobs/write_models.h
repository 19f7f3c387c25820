// Writes the pieces of a model that was cut, whichever command cut it.
#pragma once

#include <string>
#include <vector>

#include "cli/terminal/exit_code.h"
#include "core/split/boundary.h"
#include "core/split/partition.h"
#include "core/stages/backward.h"
#include "formats/io/output_folder.h"
#include "formats/model_file.h"
#include "formats/onnx/write/writer.h"
#include "formats/text/diagnostic.h"

namespace CLI {
class App;
}

namespace cleave {

// --weights, --annotate
void add_onnx_options(CLI::App& app, OnnxWriteOptions& options);

// The folder that -o names: a new one, or with --weights reference the one where the weights lie.
Loaded<OutputFolder> open_output(const std::string& path, bool force,
                                 const OnnxWriteOptions& options);

// What is written: each part, and the root that calls them.
struct ModelPieces {
  const Partition& partition;
  const Boundaries& parts;
  const Boundaries& root;
  std::vector<std::string> devices = {};  // by part, "" for one without; empty: none has one
  bool are_stages = false;                // of a pipeline, in order
  const BackwardPlan* backward = nullptr;
};

struct WrittenModels {
  std::vector<std::string> part_files;  // by part; "" for one that was not written
  std::vector<std::string> notes;       // for the report
};

// Writes the ONNX files that write_onnx_split() tells of, or `<part>.json` and `root.json` where
// the model was read from native JSON, which `options` do not touch; a backward pass, which ONNX
// has no operators for, in root.json.
Result<WrittenModels, WriteFault> write_models(const LoadedModel& model, const ModelPieces& pieces,
                                               const OnnxWriteOptions& options,
                                               const OutputFolder& folder);

// Prints why write_models() wrote nothing, and returns the exit code for it.
ExitCode refuse(const WriteFault& fault);

}  // namespace cleave
