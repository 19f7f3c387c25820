// Jobs that compile a split, and deploy it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "formats/base/faults.h"
#include "formats/base/files.h"
#include "formats/report/lowering/lowering_report.h"
#include "formats/run/jobs/jobs.h"
#include "formats/run/lowering/lowering_job.h"

namespace cleave {

// ---- lower job ----
//
// Lowers a model: real backends compile its accelerator partitions. If they refuse a partition, the
// culprits are searched for, and the model is split again without them, until nothing is refused.

struct LowerOptions {
  PoolOptions pool = {};
  SearchSettings search = {};
  bool until_clean = false;
  std::size_t most_rounds = 20;
  std::string findings_folder = {};   // where a folder for each finding is made; "": nowhere
  std::string artefacts_folder = {};  // where what was compiled is kept; "": nowhere
  // What is kept is for deploy(): of inputs that ONNX Runtime makes one, a compiled partition reads one.
  bool deploys = false;
};

// Lowers the partitions of the split, and runs further rounds until all partitions lower, no new
// rule is learned, or the limit on rounds is reached; without `until_clean` only one round. Each
// later round is the request of the split, with the learned rules. Of several targets each partition
// goes to the backends that name its target; what they refuse is denied for that target. The model must be of a format
// of which pieces can be cut: ONNX, torch.export or TensorFlow Lite. The outcome does not depend on the number of jobs,
// except for times. All that is given must outlive it.
Result<LowerOutcome, Fault> lower_model(const SplitJob& split, const std::vector<Backend>& backends,
                                        const LowerOptions& options);

// The split of the same request with known integers folded in, where all sizes are known: what only computes these
// is no work for a compiler. nullopt when that changes nothing.
std::optional<SplitJob> split_of_folded(const SplitJob& split);

// ---- deploy ----
//
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

// ---- write lowering ----
//
// What `cleave lower` writes.

struct LowerFiles {
  OutputFolder* folder = nullptr;  // of -o; null: none
  std::string learned_list = {};   // the file of the list with what was learned; "": none
  bool force = false;              // replace this file
  bool embeds = false;             // as of DeployInput
};

struct LowerWritten {
  std::vector<Deployed> deployed = {};
  std::optional<Fault> not_deployed = {};  // why; all else is written
  std::vector<std::string> warnings = {};
};

// Writes the learned lists, lowering.txt, lowering.json and what is deployed, and commits the folder. Sets in `report`
// where the learned list is, and the lists of the last round.
Result<LowerWritten, Fault> write_lowering(LoweringReport& report, const SplitJob& split,
                                           const LowerOptions& options, const LowerFiles& files);

}  // namespace cleave
