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
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/balance/problem.h"
#include "formats/base/io/source_file.h"
#include "formats/base/json/fields.h"
#include "formats/base/text/diagnostic.h"

namespace cleave {

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

// Makes the checks that read_workload promises. Faults go into `faults`; the result is then not to
// be used.
Workload make_workload(const WorkloadParts& parts, JsonFaults& faults);

}  // namespace cleave
