// Partition maps: which part each node goes to, as computed elsewhere.
//
//   {"conv1": 0, "relu": "encoder"}         JSON
//   conv1,0                                  CSV: node,partition; or with tabs between (TSV).
//   "name, with comma",encoder               A first line "node,partition" is a heading.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/string_arena.h"
#include "core/graph/graph.h"
#include "core/split/assignment.h"
#include "formats/text/diagnostic.h"

namespace cleave {

struct PartitionMapEntry {
  std::string_view node;
  std::string_view part;   // a number as it is written
  std::size_t offset = 0;  // of the entry in the file
};

struct PartitionMap {
  std::vector<PartitionMapEntry> entries;  // in the order of the file
  StringArena kept;                        // names that do not stand in the file as they are
};

// The map in a file of these bytes, which must outlive it. Refuses what is neither JSON nor CSV nor
// TSV, a node that stands twice, and a part that is neither a whole number nor a name.
Loaded<PartitionMap> parse_partition_map(const std::string& path, std::string_view bytes);

// Reads the map of the graph's nodes; parts are called `submod_<id>`. Constants may be in it, which
// changes nothing. Refuses names that the graph does not have and a map in which a node is missing:
// the first ten of each are named.
Loaded<Assignment> read_partition_map(const std::string& path, const Graph& graph);

}  // namespace cleave
