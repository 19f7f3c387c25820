// Reads a profile that ONNX Runtime writes (SessionOptions.enable_profiling): a JSON list of trace
// events. Source: onnxruntime/core/common/profiler.cc, core/framework/sequential_executor.cc.
#pragma once

#include "formats/base/io/source_file.h"
#include "formats/lists/costs/cost_entries.h"

namespace cleave {

// One entry for each kernel, in the order in which kernels first ran. Its time is the median over
// the runs of the profile; with three runs or more the first one, which warms up, is left out.
// Kernels in bodies of Loop, If and Scan are marked: the time of the node around them includes
// theirs. Linear.
Loaded<CostEntries> read_onnxruntime_profile(const SourceFile& source);

}  // namespace cleave
