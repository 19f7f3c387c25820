// Writes the pieces of a model: the parts of a split, of a partition map or of a pipeline.
#pragma once

#include <string>
#include <vector>

#include "core/split/boundary.h"
#include "core/split/partition.h"
#include "core/stages/backward.h"
#include "formats/io/output_folder.h"
#include "formats/jobs/job_fault.h"
#include "formats/model_file.h"
#include "formats/onnx/write/writer.h"
#include "formats/pt2/write/writer.h"
#include "formats/text/diagnostic.h"

namespace cleave {

// The output folder: a new one, or, where weights are referenced, the folder that holds them. Refuses
// a folder that cleave did not write, unless it is empty.
Loaded<OutputFolder> open_output(const std::string& path, bool force,
                                 const OnnxWriteOptions& options);

// What is written: each part, and the root, which calls the parts.
struct ModelPieces {
  const Partition& partition;
  const Boundaries& parts;
  const Boundaries& root;
  std::vector<std::string> devices = {};  // by part, "" for one without; empty: none has one
  bool are_stages = false;                // of a pipeline, in order
  const BackwardPlan* backward = nullptr;
  Pt2Files pt2_files = Pt2Files::one_a_part;
};

struct WrittenModels {
  std::vector<std::string> part_files;  // by part; "" for one that was not written
  std::vector<std::string> notes;       // for the report
  std::string chain = {};               // for the manifest; empty: parts are called as listed
};

// Writes the files of write_onnx_split() for a model that was read from ONNX, those of
// write_pt2_split() for a torch.export archive. For one that was read
// from native JSON: `<part>.json` and `root.json`, for which only options.progress counts. A backward
// pass goes to root.json in both cases, since ONNX has no operators for it.
Result<WrittenModels, JobFault> write_models(const LoadedModel& model, const ModelPieces& pieces,
                                             const OnnxWriteOptions& options,
                                             const OutputFolder& folder);

}  // namespace cleave
