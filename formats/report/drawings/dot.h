// Drawings of models and splits as Graphviz text (written by DotGraph, dot_graph.h), and their
// layout as SVG by Graphviz's library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "formats/report/drawings/node_heat.h"
#include "formats/report/words/report.h"

namespace cleave {

// Limit on edges per box of a drawing: Graphviz takes longer to lay out edges than boxes.
inline constexpr std::size_t kMostEdgesABox = 4;

// The whole model coloured by support, with partitions as boxes: supported, unsupported, and
// supported but kept on the CPU, with a legend; tooltips carry the reason. Above `collapse_above`
// nodes, or kMostEdgesABox times as many edges, it collapses to partitions and its label says so.
// If `heat` is given, this and the next two colour nodes and partitions by their share of it
// instead.
std::string draw_support(const Report& report, std::size_t collapse_above,
                         const HeatMap* heat = nullptr);
// One box a partition: device, nodes, top op types; bytes on each edge.
std::string draw_preview(const Report& report, const HeatMap* heat = nullptr);
// One partition with its inputs and outputs; above `collapse_above` nodes, or kMostEdgesABox
// times as many edges, its op types only.
std::string draw_part(const Report& report, PartId part, std::size_t collapse_above,
                      const HeatMap* heat = nullptr);

// Lays the drawing out as SVG with Graphviz's `dot` engine, in this process. Graphviz may crash the
// process or take minutes; see layout.h. An error when the layout library is missing. Memory that
// Graphviz takes is not freed. Throws std::bad_alloc when there is less memory than it may take.
// Above 300 edges, or if asked for, edges are straight lines and nodes are placed in a bounded
// number of steps: for some graphs of 400 edges placement and curves take minutes and lines a
// second, and Graphviz fails on curves.
enum class EdgeShape : std::uint8_t { curved, straight };
Loaded<std::string> layout_svg(const std::string& dot, EdgeShape shape = EdgeShape::curved);

// Whether Graphviz's library is on this machine. The first call loads it.
bool has_layout_library();

}  // namespace cleave
