// cleave.costs: times as JSON, version 1: measured ones of nodes, calibrated ones of ops, or both.
// The time of an op is us + us_per_flop * FLOPs + us_per_byte * bytes; "" is every op without an
// entry.
//
//   {"format": "cleave.costs", "version": 1,
//    "nodes": [{"name": "conv1", "time_us": 120.5}],
//    "ops": [{"op": "conv", "us": 4.1, "us_per_flop": 2e-5, "us_per_byte": 0}]}
#pragma once

#include <string>
#include <vector>

#include "core/cost/device.h"
#include "formats/base/io/source_file.h"
#include "formats/lists/costs/cost_entries.h"

namespace cleave {

// Unknown fields get a warning and are ignored.
Loaded<CostEntries> read_costs_json(const SourceFile& source);

struct NamedTime {
  std::string name;
  double us = 0;
};

// The text of such a file.
std::string costs_json(const std::vector<NamedTime>& nodes, const std::vector<OpTime>& ops);

}  // namespace cleave
