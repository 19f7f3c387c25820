// Where root.onnx and annotated.onnx find the weights: inside, in the files of parts, or where they
// were all along.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "formats/io/byte_pieces.h"
#include "formats/onnx/write/split_job.h"

namespace cleave {

// Where the elements of each initializer lie in the files of parts.
struct OnnxWeightPlaces {
  struct Place {
    std::uint32_t file = kNowhere;  // index into `files`
    std::uint64_t offset = 0;
  };
  static constexpr std::uint32_t kNowhere = 0xffffffff;
  std::vector<std::string> files;
  std::vector<Place> by_initializer;
};

// Adds an initializer to a GraphProto: as the options of the job ask for, but small weights, and
// those that no part holds, inside.
void add_shared_weight(const OnnxSplitJob& job, const OnnxWeightPlaces& places, BytePieces& graph,
                       std::uint32_t initializer);

}  // namespace cleave
