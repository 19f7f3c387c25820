// Draws partitions: one box each, or one for several, and the values that flow between them.
#pragma once

#include <cstddef>
#include <string>

#include "formats/report/drawings/dot_graph.h"
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
std::string part_line(const Report& report, PartId part);

// Colour, label and tooltip: device, nodes, op types, FLOPs, parameters, what the link allows.
// Coloured by `heat` unless it is null.
DotAttributes part_box(const Report& report, PartRange range, PartColours colours,
                       const HeatMap* heat = nullptr);

struct PartDrawingOptions {
  // With more parts than this, or more than kMostEdgesABox times as many edges between them,
  // consecutive parts share a box. At least 1.
  std::size_t most_boxes = 500;
  PartColours colours = PartColours::by_device;
  const HeatMap* heat = nullptr;  // instead of these
};

// Boxes, see part_box(); the graph's inputs and outputs as ellipses, one for all if there are many;
// edges with the bytes that flow. O(n log^2 n) in nodes + boundaries.
void draw_parts(DotGraph& drawing, const Report& report, const PartDrawingOptions& options);

}  // namespace cleave
