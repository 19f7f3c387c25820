// What a user has measured or knows: the times of nodes, and the devices that stages go to.
//
//   node,time_us              name,memory,speed,link
//   conv1,120.5               big,24GiB,1,gen4x16
//   "relu, fused",3           small,8GiB,0.5,
//
// CSV or TSV. The first line of times may be left out. The first line of devices names the columns
// that there are, of which only `name` must be; a cell left empty takes what the options say.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/link.h"
#include "core/graph/graph.h"
#include "formats/io/source_file.h"
#include "formats/text/diagnostic.h"

namespace cleave {

struct NodeTimes {
  PerNode<double> microseconds;  // below 0: the file has none
  std::size_t count = 0;
  Diagnostics warnings;  // names that are no nodes
};

// Refuses, beside what is no such file, times below 0, nodes that stand twice, and a file that
// names no node of the graph at all.
Loaded<NodeTimes> read_node_times(const SourceFile& source, const Graph& graph);

struct DeviceSpec {
  std::string name;
  std::optional<std::uint64_t> memory;  // bytes
  double speed = 1;                     // above 0
  std::optional<Link> link;             // to its neighbours
};

// The devices in the order in which stages take them; at least one.
Loaded<std::vector<DeviceSpec>> read_devices(const SourceFile& source);

}  // namespace cleave
