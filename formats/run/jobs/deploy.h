// root_ep.onnx: the whole model in one file for ONNX Runtime. Partitions that a backend compiled into
// an EPContext model are nodes that refer to its artefacts; all others are functions, as in root.onnx.
//
// A session refuses such a model, or dies, unless certain conditions hold. What does not is refused
// here, by name:
//   - a compiled partition reads no value that is known before the model runs: it would be folded away
//   - no node on the CPU is expanded into its definition after nodes were assigned to providers
//   - no node on the CPU is of an operator that neither ONNX Runtime nor the model defines
//   - inputs of the model that a compiled partition reads have known sizes
// A partition that reads values which ONNX Runtime makes one was compiled to read one of them (LowerOptions::deploys).
// At the end a worker that can loads the file in a process of its own, and runs it once.
#pragma once

#include <string>
#include <vector>

#include "formats/base/io/output_folder.h"
#include "formats/base/text/fault.h"
#include "formats/run/jobs/lower_job.h"

namespace cleave {

struct DeployInput {
  const SplitJob& split;  // that was lowered
  const std::vector<Backend>& backends;
  const LowerOptions& options;
  const LowerOutcome& outcome;  // with artefacts
  const OutputFolder& folder;
  bool embeds = false;  // what was compiled is in the file itself
};

struct Deployed {
  std::string file;  // within the folder
  std::size_t compiled = 0;
  std::vector<std::string> not_compiled = {};  // accelerator partitions, with reasons
  // What a session made of the file; "" where the backend has none to try it in.
  std::string tried = {};
};

// Writes one file for each backend: root_ep.onnx, or root_ep.NAME.onnx when there are several. Of
// several targets one, root_ep.onnx, in which each partition is by the backend of its target; a target has
// at most one. A file that does not load or run is removed again, and is a fault.
Result<std::vector<Deployed>, Fault> deploy(const DeployInput& input);

}  // namespace cleave
