// The files that EPContext nodes name go along with the nodes.
#pragma once

#include <cstdint>
#include <span>

#include "formats/base/io/byte_pieces.h"
#include "formats/base/text/fault.h"
#include "formats/models/onnx/write/split_job.h"

namespace cleave {

// What becomes of files that are where the copies will be.
enum class OldFiles : std::uint8_t { stay, removed };

// Copies the files that the nodes name to the same place beside `model`, which is written. A file that
// is not in the model's folder, or not there, is left out: its reader has warned of it. Where old files
// stay, one with the same bytes needs no copy.
Status<Fault> copy_context_files(const OnnxSplitJob& job, std::span<const NodeId> nodes,
                                 const OutputPath& model, OldFiles old_files);

}  // namespace cleave
