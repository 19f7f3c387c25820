// Reads performance counters that OpenVINO's benchmark_app writes:
//
//   benchmark_app -m MODEL -report_type detailed_counters -report_folder DIR [-json_stats]
//
// Source: openvino/tools/benchmark/utils/statistics_report.py, samples/cpp/benchmark_app.
#pragma once

#include "formats/base/io/source_file.h"
#include "formats/lists/costs/cost_entries.h"

namespace cleave {

// The CSV form: `layerName;execStatus;layerType;execType;realTime (ms);cpuTime (ms)`, one line per
// layer, then a line "Total". Times are averages over the runs.
Loaded<CostEntries> read_openvino_csv(const SourceFile& source);

// The JSON form: an object with "detailed_performance", a list of requests with their "nodes".
// Takes the mean of several requests. A file of "average" counters is read in the same way.
Loaded<CostEntries> read_openvino_json(const SourceFile& source);

}  // namespace cleave
