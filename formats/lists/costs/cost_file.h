// Reads a cost file of any format: recognises the format by content, then calls its reader.
#pragma once

#include "formats/base/io/source_file.h"
#include "formats/lists/costs/cost_entries.h"

namespace cleave {

// A JSON list is a profile of ONNX Runtime or TensorRT, judged by its first object; a JSON object
// is cleave.costs or OpenVINO's counters; a text that begins with "layerName;" is OpenVINO's; any
// other text is CSV node,time_us.
Loaded<CostEntries> read_cost_file(const SourceFile& source);

}  // namespace cleave
