// Edges that go round nodes, in a drawing that Graphviz laid out with straight ones. Graphviz's own curves
// take minutes for some graphs of 400 nodes; its straight lines take a tenth of a second, but cross nodes.
#pragma once

#include <string>

namespace cleave {

// The SVG with its edges led round the nodes. Graphviz places nodes in rows and leaves room in each row
// for the edges that pass it, so an edge is straight within a row, in the gap between two nodes that is
// nearest to its way, and an S between rows; between two nodes of a row it is an arch above them. A loop, and
// what lies beside other nodes in a drawing from left to right, stays as it is. O(edges * rows they pass * log of the nodes in a row).
std::string with_edges_round_nodes(const std::string& svg);

}  // namespace cleave
