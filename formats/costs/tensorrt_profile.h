// Reads the profile that TensorRT's trtexec writes with --exportProfile: a JSON list, first
// {"count": N}, then a layer each: {"name", "timeMs", "averageMs", "medianMs", "percentage"}.
// Source: TensorRT, samples/common/sampleReporting.cpp.
#pragma once

#include "formats/costs/cost_entries.h"
#include "formats/io/source_file.h"

namespace cleave {

// The median of each layer; the average where an old file has no median.
Loaded<CostEntries> read_tensorrt_profile(const SourceFile& source);

}  // namespace cleave
