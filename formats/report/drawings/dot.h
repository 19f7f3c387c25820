// Drawings of models and splits as Graphviz text (written by DotGraph, dot_graph.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "formats/report/drawings/node_heat.h"
#include "formats/report/words/report.h"

namespace cleave {

// Limit on edges per box of a drawing: Graphviz takes longer to lay out edges than boxes.
inline constexpr std::size_t kMostEdgesABox = 4;

// `shorter`: without the longest of very many edges, which make a layout slow; the label says how many
// are left out.
enum class DrawnEdges : std::uint8_t { all, shorter };

// The whole model coloured by support, with partitions as boxes: supported, unsupported, and
// supported but kept on the CPU, with a legend; tooltips carry the reason. Above `collapse_above`
// nodes, or kMostEdgesABox times as many edges, it collapses to partitions and its label says so.
// If `heat` is given, this and the next two colour nodes and partitions by their share of it
// instead.
std::string draw_support(const Report& report, std::size_t collapse_above,
                         const HeatMap* heat = nullptr, DrawnEdges edges = DrawnEdges::all);

// One box a partition: device, nodes, top op types; bytes on each edge.
std::string draw_preview(const Report& report, const HeatMap* heat = nullptr,
                         DrawnEdges edges = DrawnEdges::all);
// One partition with its inputs and outputs; above `collapse_above` nodes, or kMostEdgesABox
// times as many edges, its op types only.
std::string draw_part(const Report& report, PartId part, std::size_t collapse_above,
                      const HeatMap* heat = nullptr, DrawnEdges edges = DrawnEdges::all);

}  // namespace cleave
