// annotated.onnx: the model as it was, unsplit, each node with the name of its part as `layer_ann`
// in its metadata_props. ONNX Runtime places nodes by that:
//
//   session.layer_assignment_settings = "gpu(_run_on_acc);cpu(_run_on_cpu)"
//
// Everything else is copied as it stands; weights by the rule that root.onnx follows.
#pragma once

#include <string>

#include "core/base/result.h"
#include "formats/io/byte_pieces.h"
#include "formats/onnx/write/split_job.h"
#include "formats/onnx/write/weight_places.h"

namespace cleave {

// Lays annotated.onnx out. Constants are in no part, so nothing is said of them. Error: it would be
// larger than protobuf reads.
Result<BytePieces, std::string> build_onnx_annotated(const OnnxSplitJob& job,
                                                     const OnnxWeightPlaces& places);

}  // namespace cleave
