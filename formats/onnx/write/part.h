// One part of a split as a model of its own: its inputs are what flows in, its outputs what flows
// out, its weights are inside.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "formats/io/byte_pieces.h"
#include "formats/onnx/write/split_job.h"

namespace cleave {

// Where a part's files hold the elements of an initializer.
struct OnnxPlacedWeight {
  std::uint32_t initializer;
  bool in_data;  // in `<part>.onnx.data`, else in `<part>.onnx`
  std::uint64_t offset;
};

struct OnnxPart {
  BytePieces model;
  BytePieces data;  // `<part>.onnx.data`, for weights that the model has no room for; mostly empty
  std::vector<OnnxPlacedWeight> weights;
};

// What the part gives: its boundary outputs; where it has none, what its last node makes, since a
// model without outputs is none. Empty when no node of it makes anything.
std::vector<ValueId> part_outputs(const OnnxSplitJob& job, PartId part);

// Lays the part's files out. Error: the model would be larger than protobuf reads, with its weights
// in a file of their own, too.
Result<OnnxPart, std::string> build_onnx_part(const OnnxSplitJob& job, PartId part);

}  // namespace cleave
