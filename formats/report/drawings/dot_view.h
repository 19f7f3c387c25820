// Drawings of views, which an interactive page shows one at a time.
#pragma once

#include <string>

#include "core/measures/views.h"
#include "formats/report/drawings/dot_graph.h"
#include "formats/report/words/report.h"

namespace cleave {

// Draws the views of one report; reuses a table over the nodes.
class ViewDrawings {
 public:
  // In each, edges span at most `most_ranks` ranks: see DotGraph::leave_out_long_edges().
  ViewDrawings(const Report& report, const Views& views,
               std::size_t most_ranks = DotGraph::kMostRanksSpanned);

  // One view as Graphviz text, in time linear in its nodes and their edges: its boxes, and an
  // ellipse for each value that enters or leaves, or one for all if there are many.
  //
  // Boxes and ellipses have `id`s, which SVG keeps: n<node>, g<view>; s<i>_<node> for a value that
  // enters, from the node that makes it (none for an input of the graph); t<i>_<node> for one that
  // leaves, to the first node that reads it. Their `class` gives the role: acc, kept, unsupported;
  // for a group acc, cpu or mixed; port.
  //
  // Of very many edges that span many boxes only the shorter ones are drawn, and the drawing says so: all
  // of them would not be laid out.
  std::string draw(ViewId view);
  // Whether the view that was drawn last shows only some of its edges.
  bool has_left_out_edges() const { return left_out_ > 0; }

 private:
  const Report& report_;
  const Views& views_;
  std::size_t most_ranks_;
  PerNode<std::uint32_t> box_of_;  // in the current view
  std::size_t left_out_ = 0;       // edges of the current view
};

}  // namespace cleave
