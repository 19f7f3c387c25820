// Writes the partitions of a split or of a partition map, or the stages of a pipeline.
#pragma once

#include <string>
#include <vector>

#include "core/split/boundary.h"
#include "core/split/partition.h"
#include "formats/base/io/output_folder.h"
#include "formats/base/text/diagnostic.h"
#include "formats/base/text/fault.h"
#include "formats/models/model_file.h"
#include "formats/models/onnx/write/writer.h"
#include "formats/models/pt2/write/writer.h"
#include "formats/models/tflite/write/writer.h"

namespace cleave {

// The output folder: a new one, or, with referenced weights, the folder that contains them. Refuses
// a folder that cleave did not write, unless it is empty.
Loaded<OutputFolder> open_output(const std::string& path, bool force,
                                 const OnnxWriteOptions& options);

// What to write: each partition, and the root, which calls the partitions.
struct ModelPieces {
  const Partition& partition;
  const Boundaries& parts;
  const Boundaries& root;
  std::vector<std::string> devices = {};   // by part, "" for none; empty: none at all
  bool are_stages = false;                 // of a pipeline, in order
  std::vector<std::string> backward = {};  // backward_nodes(); empty: the root only calls forward
  PartFiles files = PartFiles::one_a_part;
  TfliteLift tflite_lift = TfliteLift::shared;
};

struct WrittenModels {
  std::vector<std::string> part_files;  // by part; "" for one that was not written
  std::vector<std::string> notes;       // for the report
  std::string chain = {};               // for the manifest; empty: partitions are called as listed
};

// Writes the files of write_onnx_split() for a model read from ONNX, those of write_pt2_split() for a
// torch.export archive, and those of write_tflite_split() for a TensorFlow Lite model. For native
// JSON it writes `<part>.json` and `root.json`, and uses only options.progress. A backward pass goes
// to root.json in any case, since ONNX has no operators for it.
Result<WrittenModels, Fault> write_models(const LoadedModel& model, const ModelPieces& pieces,
                                          const OnnxWriteOptions& options,
                                          const OutputFolder& folder);

}  // namespace cleave
