// cleave.costs: times of nodes as JSON, version 1.
//
//   {"format": "cleave.costs", "version": 1,
//    "nodes": [{"name": "conv1", "time_us": 120.5}]}
#pragma once

#include "formats/costs/cost_entries.h"
#include "formats/io/source_file.h"

namespace cleave {

// Unknown fields get a warning and are ignored.
Loaded<CostEntries> read_costs_json(const SourceFile& source);

}  // namespace cleave
