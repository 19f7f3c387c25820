// Tables that pipelines need: loss specs, maps of partitions, workloads.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/base.h"
#include "core/graph/graph.h"
#include "core/stages/balance.h"
#include "core/stages/stages.h"
#include "formats/base/faults.h"
#include "formats/base/files.h"
#include "formats/base/json.h"
#include "formats/base/model.h"

namespace cleave {

// ---- loss spec ----
//
// Which output of a model is the loss, as the user specifies it: by name, or as JSON with the
// structure of what the model returns, with true at the loss and false at everything else.
//
//   returns {"logits": y, "loss": l}      --loss-output loss
//                                         --loss-output '{"logits": false, "loss": true}'

// The loss. Without a spec: the value returned under the key "loss", or the output of that name.
// Refuses a spec with another structure, length or keys than what the model returns, one that marks
// none or several, and one that marks something other than a value. If the model's file does not
// give the structure, it is the list of its outputs, or the output itself if there is one.
Result<ValueId> find_loss(const LoadedModel& model, const std::optional<std::string>& spec);

// ---- partition map ----
//
// Partition maps: the partition of each node, as computed elsewhere.
//
//   {"conv1": 0, "relu": "encoder"}         JSON
//   conv1,0                                  CSV: node,partition; or with tabs between (TSV).
//   "name, with comma",encoder               A first line "node,partition" is a heading.
//
// A key may be a node's name, a glob on names ("layer1.*"), or "scope:encoder.layer.0" for the
// nodes of a module. A name wins over globs and scopes; of these, the first one that fits wins. A
// JSON report of cleave can be used as a map, too: its `node_map` is read. So can an ONNX model whose nodes name their
// stages, in metadata `pipeline_stage` or in device configurations (IR version 11), and what Olive splits by,
// {"split_assignments": {"layers.0": 0}} or the same text as metadata of the model: keys are modules there, and a node
// between two goes with the last that it reads from.

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

// ---- workload file ----
//
// Workloads: the public inputs of "Efficient Algorithms for Device Placement of DNN Graph
// Operators" (Tarnawski et al., NeurIPS 2020), JSON files of a graph with costs and the devices to
// place it on. Their optima are known, so balanced stages can be compared with them.
//
//   {"maxFPGAs": 6, "maxCPUs": 1, "maxSizePerFPGA": 17185374208.0,
//    "nodes": [{"id": 1, "supportedOnFpga": true, "fpgaLatency": 0.7, "cpuLatency": 7,
//               "isBackwardNode": false, "colorClass": 3, "size": 131325952}, ...],
//    "edges": [{"sourceId": 1, "destId": 2, "cost": 0.01}, ...]}
//
// "FPGA" is any accelerator. Latencies and costs are in one unit (ms), sizes in bytes. Booleans are
// written as true and false or as 1 and 0. The cost of an edge is that of moving its source's one
// output, so all edges out of a node have the same cost.
//
// The order of the stages follows edges between forward nodes. A backward node goes with the nodes
// of its colour class. In a class without a forward node, edges between backward nodes count in the
// other direction, as if the class had a forward node without cost.

struct WorkloadDevices {
  std::uint32_t accelerators = 0;
  std::uint32_t hosts = 0;
  double memory = kUnlimited;  // of an accelerator, bytes
};

struct Workload {
  BalanceProblem problem;          // items: the nodes in the file's order; no devices yet
  std::vector<std::string> names;  // of the items: their ids
  std::size_t edge_count = 0;
  WorkloadDevices devices;  // as in the file
  Diagnostics warnings;
};

// Refuses files that are not workloads, ids given twice or missing, edges out of one node whose
// costs differ by more than 1e-6, edges from a backward node to a forward one, and cycles. Linear,
// plus sorting.
Loaded<Workload> read_workload(const SourceFile& source);

// Whether the file is such a workload, and no model: a JSON object with a number of devices, and no format.
bool is_workload(const SourceFile& source);

// The devices for balancing; stages may use them in any order.
std::vector<BalanceDevice> balance_devices(const WorkloadDevices& devices);

// The nodes and edges of a workload file, and the balance problem made from them.
struct WorkloadNode {
  std::int64_t id = 0;
  std::optional<std::int64_t> colour = std::nullopt;
  double accelerator_time = 0;
  double host_time = 0;
  double bytes = 0;
  bool runs_on_accelerator = true;
  bool is_backward = false;
  std::uint64_t offset = 0;  // in the file
};

struct WorkloadEdge {
  std::int64_t source = 0;
  std::int64_t target = 0;
  double cost = 0;
  std::uint64_t offset = 0;
};

struct WorkloadParts {
  WorkloadDevices devices;
  std::vector<WorkloadNode> nodes;
  std::vector<WorkloadEdge> edges;
};

}  // namespace cleave
