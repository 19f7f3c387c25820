// The nodes and edges of a workload file, and the balance problem made from them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "formats/base/json/fields.h"
#include "formats/lists/tables/workload_file.h"

namespace cleave {

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
