// Draws partitions: one box each, and the values that flow between them.
#pragma once

#include "formats/report/drawings/dot_graph.h"
#include "formats/report/drawings/dot_part_box.h"
#include "formats/report/words/report.h"

namespace cleave {

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
