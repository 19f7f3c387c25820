// root.onnx: the whole split as one model that runs. Each part is a model-local function, called
// once, in order, from a main graph with the original's inputs and outputs:
//
//   main graph:  x, w1 -> _run_on_cpu_0 -> h -> _run_on_acc_1 (also w2) -> y
//
// Large weights stay at the root and are passed as inputs, so that they are written once and a
// runtime can share them; small ones and the constants that a part needs are made inside it, so
// that a tool that looks at a function alone sees them as constants.
#pragma once

#include <string>

#include "core/base/result.h"
#include "formats/io/byte_pieces.h"
#include "formats/onnx/write/split_job.h"
#include "formats/onnx/write/weight_places.h"

namespace cleave {

// Lays root.onnx out; parts without outputs are not in it. Error: it would be larger than protobuf
// reads.
Result<BytePieces, std::string> build_onnx_root(const OnnxSplitJob& job,
                                                const OnnxWeightPlaces& places);

}  // namespace cleave
