// Small tables of users: devices, lists of nodes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/quantity.h"
#include "core/graph/graph.h"
#include "formats/base/faults.h"
#include "formats/base/files.h"

namespace cleave {

// ---- device file ----
//
// The devices that stages run on, as the user lists them:
//
//   name,memory,speed,link
//   big,24GiB,1,gen4x16
//   small,8GiB,0.5,
//
// CSV or TSV. The first line names the columns present; only `name` is required. An empty cell
// takes the value of the command's options. A column `target` says which of several targets a device is;
// without a target, or as "cpu", it is the host.

struct DeviceSpec {
  std::string name;
  std::optional<std::uint64_t> memory;  // bytes
  double speed = 1;                     // above 0
  std::optional<Link> link;             // to its neighbours
  std::optional<std::string> target;    // nullopt: there is no such column; "cpu": the host
};

// The devices in the order in which stages use them; at least one.
Loaded<std::vector<DeviceSpec>> read_devices(const SourceFile& source);

// ---- node list ----
//
// Node lists: some nodes of a model, by name.
//
//   ["conv1", "relu"]      JSON, also for names with line breaks
//   conv1                  text: one name per line; empty lines are skipped

// The nodes of the list in the file ("-": standard input), in model order, each once. Constants may
// be listed, without effect. Refuses names that the graph does not have (naming the first ten) and
// a list without nodes.
Loaded<std::vector<NodeId>> read_node_list(const std::string& path, const Graph& graph);

}  // namespace cleave
