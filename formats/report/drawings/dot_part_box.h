// The text in the box of a partition, or of several in one box.
#pragma once

#include <cstddef>
#include <string>

#include "formats/report/drawings/dot_style.h"
#include "formats/report/drawings/node_heat.h"
#include "formats/report/words/report.h"

namespace cleave {

// Consecutive parts: [first, last), at least one.
struct PartRange {
  std::size_t first, last;
  std::size_t count() const { return last - first; }
};

enum class PartColours {
  by_device,
  by_support,  // of the nodes inside
};

// "_run_on_acc_1: accelerator, 12 nodes"
std::string part_line(const Partition& partition, PartId part);

// Colour, label and tooltip: device, nodes, op types, FLOPs, parameters, what the link allows.
// Coloured by `heat` unless it is null.
DotAttributes part_box(const Report& report, PartRange range, PartColours colours,
                       const HeatMap* heat = nullptr);

}  // namespace cleave
