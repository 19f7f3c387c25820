// root.onnx: the whole split as one model that runs. Each partition is a model-local function,
// called once, in order, from a main graph with the original's inputs and outputs:
//
//   main graph:  x, w1 -> _run_on_cpu_0 -> h -> _run_on_acc_1 (also w2) -> y
//
// Large weights are in the root and passed as inputs, so that they are written once and a runtime
// can share them. Small ones, and the constants that a partition needs, are made inside its
// function, so that a tool that reads a function alone sees them as constants.
#pragma once

#include <span>
#include <string>

#include "core/base/result.h"
#include "formats/base/io/byte_pieces.h"
#include "formats/models/onnx/write/context_nodes.h"
#include "formats/models/onnx/write/split_job.h"
#include "formats/models/onnx/write/weight_places.h"

namespace cleave {

// Lays root.onnx out; leaves out partitions without outputs. `contexts`, by part, or empty: compiled
// partitions, whose nodes take the places of their calls; inputs and outputs of the model then have
// the sizes that they are bound to. Error: the file would be larger than protobuf can read.
Result<BytePieces, std::string> build_onnx_root(const OnnxSplitJob& job,
                                                const OnnxWeightPlaces& places,
                                                std::span<const OnnxContext> contexts = {});

}  // namespace cleave
