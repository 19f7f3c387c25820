#include "formats/report/words/split_notes.h"

#include "formats/text/number_text.h"

namespace cleave {

std::string start_note(const Split& split) {
  const std::size_t count = split.found.subgraphs.count();
  const std::size_t other = split.found.count_from_other_side;
  if (other >= count) return {};
  return "starting from the other side gives " + std::to_string(other) + " subgraphs instead of " +
         std::to_string(count) + ": see --start fewest";
}

std::string host_shapes_note(const Split& split, const SplitOptions& options) {
  if (!options.host_shapes.follow) return {};
  const HostShapes& shapes = split.host_shapes;
  const bool is_less = shapes.subgraphs <= shapes.subgraphs_without;
  const std::size_t change = is_less ? shapes.subgraphs_without - shapes.subgraphs
                                     : shapes.subgraphs - shapes.subgraphs_without;
  return "host shapes: " + counted(shapes.nodes.count(), "node", "nodes") + ", " +
         (change == 0 ? "as many subgraphs as without"
                      : counted(change, is_less ? "fewer subgraph" : "more subgraph",
                                is_less ? "fewer subgraphs" : "more subgraphs"));
}

}  // namespace cleave
