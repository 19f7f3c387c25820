// One partition of a split as a model of its own: its inputs and outputs are the partition's
// boundary, its weights are inside.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "formats/base/io/byte_pieces.h"
#include "formats/models/onnx/write/split_job.h"

namespace cleave {

// Where a partition's files hold the elements of an initializer.
struct OnnxPlacedWeight {
  std::uint32_t initializer;
  bool in_data;  // in `<part>.onnx.data`, else in `<part>.onnx`
  std::uint64_t offset;
};

struct OnnxPart {
  BytePieces model;
  BytePieces data;  // `<part>.onnx.data`, for weights that do not fit into the model; usually empty
  std::vector<OnnxPlacedWeight> weights;
};

// The partition's outputs: those of its boundary, or, if it has none, those of its last node, since
// a model must have outputs. Empty when no node of it has outputs.
std::vector<ValueId> part_outputs(const OnnxSplitJob& job, PartId part);

// Lays the partition's files out. Error: the model would be larger than protobuf can read even with
// its weights in a file of their own.
Result<OnnxPart, std::string> build_onnx_part(const OnnxSplitJob& job, PartId part);

}  // namespace cleave
