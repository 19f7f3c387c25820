// Partition maps: the partition of each node, as computed elsewhere.
//
//   {"conv1": 0, "relu": "encoder"}         JSON
//   conv1,0                                  CSV: node,partition; or with tabs between (TSV).
//   "name, with comma",encoder               A first line "node,partition" is a heading.
//
// A key may be a node's name, a glob on names ("layer1.*"), or "scope:encoder.layer.0" for the
// nodes of a module. A name wins over globs and scopes; of these, the first one that fits wins. A
// JSON report of cleave can be used as a map, too: its `node_map` is read.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/string_arena.h"
#include "core/graph/graph.h"
#include "core/stages/assignment.h"
#include "formats/base/text/diagnostic.h"

namespace cleave {

struct PartitionMapEntry {
  std::string_view node;
  std::string_view part;   // a number as written, or a name
  std::size_t offset = 0;  // of the entry in the file
};

struct PartitionMap {
  std::vector<PartitionMapEntry> entries;  // in the order of the file
  StringArena kept;                        // names that differ from their text in the file
  bool has_own_names = false;  // cleave wrote it: parts keep their names instead of `submod_<id>`
};

struct PartitionMapOptions {
  std::optional<std::string> fallback = {};  // the partition of nodes that the map does not name
  std::string affix = {};                    // partitions are called `submod_<affix>_<id>`
};

// Parses the map in `bytes`, which must outlive the result. Refuses text that is neither JSON nor
// CSV nor TSV, a node given twice, and a partition that is neither a whole number nor a name.
Loaded<PartitionMap> parse_partition_map(const std::string& path, std::string_view bytes);

// Reads the map for the graph's nodes; partitions are called `submod_<id>`. Constants may be
// listed, without effect. Refuses names that the graph does not have, globs and scopes without
// nodes, and a map without some of the nodes; names the first ten of each. Linear for each glob and
// scope.
Loaded<Assignment> read_partition_map(const std::string& path, const Graph& graph,
                                      const PartitionMapOptions& options = {});

}  // namespace cleave
