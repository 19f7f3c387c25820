// Reads times of nodes that people wrote down: CSV or TSV, one line per node.
//
//   node,time_us
//   conv1,120.5
//   "relu, fused",3
#pragma once

#include "formats/base/io/source_file.h"
#include "formats/lists/costs/cost_entries.h"

namespace cleave {

// The first line may be left out. Refuses other files, times below 0, and nodes given twice.
Loaded<CostEntries> read_node_csv(const SourceFile& source);

}  // namespace cleave
