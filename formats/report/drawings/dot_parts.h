// Drawing partitions: a box each, and what flows between them.
#pragma once

#include "formats/report/drawings/dot_graph.h"
#include "formats/report/drawings/dot_part_box.h"
#include "formats/report/words/report.h"

namespace cleave {

struct PartDrawingOptions {
  // With more parts than this, or more than kMostEdgesABox times as many edges between them, parts
  // that follow each other share a box. At least 1.
  std::size_t most_boxes = 500;
  PartColours colours = PartColours::by_device;
};

// Boxes, see part_box(); the graph's inputs and outputs as ellipses, one for all where they are
// many; edges with the bytes of what flows. O(n log^2 n) in nodes + boundaries.
void draw_parts(DotGraph& drawing, const Report& report, const PartDrawingOptions& options);

}  // namespace cleave
