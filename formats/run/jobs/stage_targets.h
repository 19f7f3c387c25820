// Stages on devices of several targets: which nodes each target takes, and how long they take there.
//
//   name,target,memory
//   npu0,npu,8MiB             stages go to the devices in this order; each holds only nodes that the
//   gpu0,gpu,4GiB             lists of its target accept
//   host,cpu,                 the host takes every node
#pragma once

#include <string>
#include <vector>

#include "formats/report/stages/stage_balance.h"
#include "formats/run/jobs/balance_job.h"

namespace cleave {

struct StageTargets {
  GraphBalance made;  // with target_times; an item's host_time is that of the host
  std::vector<std::uint32_t> target_of;  // by device; of the host 0
  std::vector<TargetOfStages>
      targets;  // in the order of the lists; the host last, if it is a device
  Diagnostics warnings;
};

// Reads the lists. A device without memory or link of its own gets those that its target is given.
// Refuses a device of a target that has no list, and a target that has no device. Linear in nodes and
// edges for each target.
Result<StageTargets, Fault> stage_targets(const Graph& graph, const BalanceRequest& request,
                                          const GraphCostOptions& costs, const CostSet& read,
                                          std::vector<DeviceSpec>& devices);

}  // namespace cleave
