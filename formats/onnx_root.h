// root.onnx: the whole split as one model that runs. Each part is a model-local function, called
// once, in order, from a main graph with the original's inputs and outputs:
//
//   main graph:  x, w1 -> _run_on_cpu_0 -> h -> _run_on_acc_1 (also w2) -> y
//
// Large weights stay at the root and are passed as inputs, so that they are written once and a
// runtime can share them; small ones and the constants that a part needs are made inside it, so
// that a tool that looks at a function alone sees them as constants.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/result.h"
#include "formats/byte_pieces.h"
#include "formats/onnx_split_job.h"

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

// Lays root.onnx out; parts without outputs are not in it. Error: it would be larger than protobuf
// reads.
Result<BytePieces, std::string> build_onnx_root(const OnnxSplitJob& job,
                                                const OnnxWeightPlaces& places);

}  // namespace cleave
