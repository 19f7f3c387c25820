// Drawings: Graphviz files through cgraph.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "formats/report/words/report.h"

namespace cleave {

// Edges for each box that a drawing may have: laying out edges takes Graphviz longer than boxes.
inline constexpr std::size_t kMostEdgesABox = 4;

// The whole model coloured by support, with partitions as boxes: supported, unsupported, and
// supported but kept on the CPU, with a legend; tooltips carry the reason. Above `collapse_above`
// nodes, or kMostEdgesABox times as many edges, it collapses to partitions and its label says so.
std::string draw_support(const Report& report, std::size_t collapse_above);
// One box a partition: device, nodes, top op types; bytes on each edge.
std::string draw_preview(const Report& report);
// One partition with its inputs and outputs; above `collapse_above` nodes, or kMostEdgesABox
// times as many edges, its op types only.
std::string draw_part(const Report& report, PartId part, std::size_t collapse_above);

// The drawing laid out as SVG by Graphviz's `dot` engine, in this process: Graphviz may take the
// process with it or take minutes; see layout.h. An error where the layout library is not there.
// What Graphviz took is not given back. Throws std::bad_alloc when there is less memory than it may
// take.
// Above 300 edges, or where asked for, edges are straight lines and nodes are placed in a bounded
// number of steps: the placing and the curves take minutes for some graphs of 400 edges, lines a
// second, and the curves are what Graphviz fails at.
enum class EdgeShape : std::uint8_t { curved, straight };
Loaded<std::string> layout_svg(const std::string& dot, EdgeShape shape = EdgeShape::curved);

}  // namespace cleave
