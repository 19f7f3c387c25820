// Drawings: Graphviz files through cgraph.
#pragma once

#include <string>

#include "formats/report/words/report.h"

namespace cleave {

// The whole model coloured by support, with partitions as boxes: supported, unsupported, and
// supported but kept on the CPU, with a legend; tooltips carry the reason. Above `collapse_above`
// nodes it collapses to partitions and its label says so.
std::string draw_support(const Report& report, std::size_t collapse_above);
// One box a partition: device, nodes, top op types; bytes on each edge.
std::string draw_preview(const Report& report);
// One partition with its inputs and outputs; above `collapse_above` nodes, its op types only.
std::string draw_part(const Report& report, PartId part, std::size_t collapse_above);

// The drawing laid out as SVG by Graphviz's `dot` engine. Nothing when the layout library is not
// there. Slow: seconds for 500 nodes. Throws std::bad_alloc when there is less memory than that may
// take.
Loaded<std::string> layout_svg(const std::string& dot);

}  // namespace cleave
