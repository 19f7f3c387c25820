// Where root.onnx and annotated.onnx have the weights: inside, in the files of partitions, or where
// they were before.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "formats/base/io/byte_pieces.h"
#include "formats/models/onnx/write/split_job.h"

namespace cleave {

// Where the elements of each initializer are in the files of partitions.
struct OnnxWeightPlaces {
  struct Place {
    std::uint32_t file = kNowhere;  // index into `files`
    std::uint64_t offset = 0;
  };
  static constexpr std::uint32_t kNowhere = 0xffffffff;
  std::vector<std::string> files;
  std::vector<Place> by_initializer;
};

// Adds an initializer to a GraphProto in the way that the job's options ask for. Small weights, and
// weights that no partition holds, are always inside.
void add_shared_weight(const OnnxSplitJob& job, const OnnxWeightPlaces& places, BytePieces& graph,
                       std::uint32_t initializer);

}  // namespace cleave
