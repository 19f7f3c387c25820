// Drawings of views: what an interactive page shows one at a time.
#pragma once

#include <string>

#include "core/study/views.h"
#include "formats/report/drawings/dot_graph.h"
#include "formats/report/words/report.h"

namespace cleave {

// Draws the views of one report; keeps a table over the nodes between them.
class ViewDrawings {
 public:
  ViewDrawings(const Report& report, const Views& views);

  // One view as Graphviz text, in time linear in its nodes and their edges: its boxes, and an
  // ellipse for each value that comes in or goes out, or one for all where there are many.
  //
  // Boxes and ellipses carry `id`s, which SVG keeps: n<node>, g<view>; s<i>_<node> for a value that
  // comes in, from the node that makes it (none for an input of the graph), t<i>_<node> for one
  // that goes out, to the first node that reads it. Their `class` tells the role: acc, kept,
  // unsupported; of a group acc, cpu or mixed; port.
  std::string draw(ViewId view);

 private:
  const Report& report_;
  const Views& views_;
  PerNode<std::uint32_t> box_of_;  // in the view being drawn
};

}  // namespace cleave
