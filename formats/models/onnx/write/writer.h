// Writes the split of an ONNX model: each partition as a stand-alone model, and the root, the whole
// split as one runnable model with partitions as model-local functions. Records are copied byte for
// byte; weights are copied from file to file without passing through memory.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/progress.h"
#include "core/split/boundary.h"
#include "core/split/partition.h"
#include "formats/base/io/output_folder.h"
#include "formats/base/text/diagnostic.h"
#include "formats/base/text/fault.h"
#include "formats/models/bind/loaded_model.h"
#include "formats/models/onnx/write/context_nodes.h"
#include "formats/models/onnx/write/node_tags.h"

namespace cleave {

enum class RootWeights {
  external,   // the root refers to weights in the partitions' files next to it
  inlined,    // the root is one self-contained file
  shared,     // root and partitions refer to one file with each weight once: see OnnxSharedWeights
  reference,  // root and partitions refer to the weights where they are: see onnx_references()
};

struct OnnxWritten {
  std::vector<std::string> files;       // names within the folder, in the order written
  std::vector<std::string> part_files;  // by part: its own file; "" if it is not written
  // partitions left out of the root, cut values without rank, ...
  std::vector<std::string> notes;
};

struct OnnxWriteOptions {
  std::optional<RootWeights> root_weights = {};  // nullopt: as the format has it, see weights()
  // also write annotated.onnx, the unsplit model with each node's partition
  bool annotate = false;
  OnnxTagOptions tags = {};  // what node tags contain
  // A model with more bytes is not written, since no protobuf library reads it: the partition's
  // weights then go to `<part>.onnx.data`.
  std::uint64_t largest_model = (std::uint64_t{1} << 31U) - 2;
  Progress progress = {};  // reports the bytes written, of an estimate of all

  // Those of ONNX models.
  RootWeights weights() const { return root_weights.value_or(RootWeights::external); }
};

// The parts of a split to write.
struct OnnxPieces {
  const Partition& partition;
  const Boundaries& parts;
  // as the root calls the partitions; it contains all weights that it passes
  const Boundaries& root;
  const std::vector<std::string>& devices;  // by part, the name in metadata; empty: none
};

// Writes only a root, as `file`, in which partitions are compiled nodes: `contexts` has them by part,
// none for one that stays a call. All weights are inside.
Status<Fault> write_onnx_deployed(const LoadedModel& model, const OnnxPieces& pieces,
                                  std::span<const OnnxContext> contexts, const OutputFolder& folder,
                                  const std::string& file);

// Writes `<part>.onnx` for each partition (file names: formats/base/io/part_files.h), `root.onnx` and,
// if asked for, `annotated.onnx`. Errors: external data that is missing, has the wrong length, or
// is outside the model's folder; a model that would be too large; system errors; for
// RootWeights::reference, weights outside the output folder. Takes as long as copying the bytes
// written, and a few MB of memory whatever the weights.
Result<OnnxWritten, Fault> write_onnx_split(const LoadedModel& model, const OnnxPieces& pieces,
                                            const OnnxWriteOptions& options,
                                            const OutputFolder& folder);

}  // namespace cleave
