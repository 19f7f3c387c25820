// Reads cost files: recognises the format by content, then calls its reader.
#pragma once

#include "formats/base/io/source_file.h"
#include "formats/lists/costs/cost_entries.h"

namespace cleave {

// Reads times of nodes that people wrote down: CSV or TSV, one line per node.
//
//   node,time_us
//   conv1,120.5
//   "relu, fused",3

// The first line may be left out. Refuses other files, times below 0, and nodes given twice.
Loaded<CostEntries> read_node_csv(const SourceFile& source);

// Reads the profile that TensorRT's trtexec writes with --exportProfile: a JSON list, first
// {"count": N}, then one object per layer: {"name", "timeMs", "averageMs", "medianMs",
// "percentage"}.
// Source: TensorRT, samples/common/sampleReporting.cpp.

// Takes the median of each layer, or the average if an old file has no median.
Loaded<CostEntries> read_tensorrt_profile(const SourceFile& source);

// A JSON list is a profile of ONNX Runtime or TensorRT, judged by its first object; a JSON object
// is cleave.costs or OpenVINO's counters; a text that begins with "layerName;" is OpenVINO's; any
// other text is CSV node,time_us.
Loaded<CostEntries> read_cost_file(const SourceFile& source);

// Reads a profile that ONNX Runtime writes (SessionOptions.enable_profiling): a JSON list of trace
// events. Source: onnxruntime/core/common/profiler.cc, core/framework/sequential_executor.cc.

// One entry for each kernel, in the order in which kernels first ran. Its time is the median over
// the runs of the profile; with three runs or more the first one, which warms up, is left out.
// Kernels in bodies of Loop, If and Scan are marked: the time of the node around them includes
// theirs. Linear.
Loaded<CostEntries> read_onnxruntime_profile(const SourceFile& source);

// Reads performance counters that OpenVINO's benchmark_app writes:
//
//   benchmark_app -m MODEL -report_type detailed_counters -report_folder DIR [-json_stats]
//
// Source: openvino/tools/benchmark/utils/statistics_report.py, samples/cpp/benchmark_app.

// The CSV form: `layerName;execStatus;layerType;execType;realTime (ms);cpuTime (ms)`, one line per
// layer, then a line "Total". Times are averages over the runs.
Loaded<CostEntries> read_openvino_csv(const SourceFile& source);

// The JSON form: an object with "detailed_performance", a list of requests with their "nodes".
// Takes the mean of several requests. A file of "average" counters is read in the same way.
Loaded<CostEntries> read_openvino_json(const SourceFile& source);

}  // namespace cleave
