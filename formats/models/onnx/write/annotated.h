// annotated.onnx: the original unsplit model, each node with the name of its partition as
// `layer_ann` in its metadata_props. ONNX Runtime places nodes by it:
//
//   session.layer_assignment_settings = "gpu(_run_on_acc);cpu(_run_on_cpu)"
//
// All else is copied unchanged; weights follow the same rule as in root.onnx.
#pragma once

#include <string>

#include "core/base/result.h"
#include "formats/base/io/byte_pieces.h"
#include "formats/models/onnx/write/split_job.h"
#include "formats/models/onnx/write/weight_places.h"

namespace cleave {

// Lays annotated.onnx out. Constants are in no partition and get no annotation. Error: the file
// would be larger than protobuf can read.
Result<BytePieces, std::string> build_onnx_annotated(const OnnxSplitJob& job,
                                                     const OnnxWeightPlaces& places);

}  // namespace cleave
