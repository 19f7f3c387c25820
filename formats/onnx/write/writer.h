// Writes the split of an ONNX model: each part as a stand-alone model, and the root, the whole
// split as one runnable model with parts as model-local functions. Records are copied byte for
// byte; weights go from file to file without passing through memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/progress.h"
#include "core/split/boundary.h"
#include "core/split/partition.h"
#include "formats/io/output_folder.h"
#include "formats/io/write_fault.h"
#include "formats/model/loaded_model.h"
#include "formats/onnx/write/node_tags.h"
#include "formats/text/diagnostic.h"

namespace cleave {

enum class RootWeights {
  external,   // the root's weights point into the part files beside it
  inlined,    // the root is one self-contained file
  reference,  // those of root and parts point to where they lie already: see onnx_references.h
};

struct OnnxWritten {
  std::vector<std::string> files;       // names within the folder, in the order written
  std::vector<std::string> part_files;  // by part: its own file; "" for one that is not written
  std::vector<std::string> notes;       // parts left out of the root, cut values without rank, ...
};

struct OnnxWriteOptions {
  RootWeights root_weights = RootWeights::external;
  bool annotate = false;     // also annotated.onnx, the unsplit model with each node's part
  OnnxTagOptions tags = {};  // what nodes say of the split
  // A model of more bytes is not written, since no protobuf library reads it: a part's weights go
  // to `<part>.onnx.data` then.
  std::uint64_t largest_model = (std::uint64_t{1} << 31U) - 2;
  Progress progress = {};  // told the bytes written, of about those there will be
};

// What is to be written of a split.
struct OnnxPieces {
  const Partition& partition;
  const Boundaries& parts;
  const Boundaries& root;  // as the root calls the parts; it holds all weights that it passes
  const std::vector<std::string>& devices;  // by part, as metadata names it; empty: none has one
};

// Writes `<part>.onnx` for each part (its name there: formats/io/part_files.h), `root.onnx` and, when
// asked for, `annotated.onnx`. Errors: external data that is not there, not as long as it should
// be, or outside the model's folder; a model that would be too large; what the system says; for
// RootWeights::reference, weights outside the output folder. Time: that of copying the bytes
// written; memory: a few MB whatever the weights.
Result<OnnxWritten, WriteFault> write_onnx_split(const LoadedModel& model, const OnnxPieces& pieces,
                                                 const OnnxWriteOptions& options,
                                                 const OutputFolder& folder);

}  // namespace cleave
