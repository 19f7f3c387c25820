// Reads the profile that TensorRT's trtexec writes with --exportProfile: a JSON list, first
// {"count": N}, then one object per layer: {"name", "timeMs", "averageMs", "medianMs",
// "percentage"}.
// Source: TensorRT, samples/common/sampleReporting.cpp.
#pragma once

#include "formats/base/io/source_file.h"
#include "formats/lists/costs/cost_entries.h"

namespace cleave {

// Takes the median of each layer, or the average if an old file has no median.
Loaded<CostEntries> read_tensorrt_profile(const SourceFile& source);

}  // namespace cleave
