// Schedule: parts of different devices that run at the same time. Each device runs its parts in their
// order, and each part starts when its device is free and what it reads is there.
//
//   npu  [ 0 ][ 2     ]         1 and 2 read from 0, and 3 reads from both:
//   gpu       [ 1 ]             the critical path is 0, 2, 3
//   cpu                [ 3 ]
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/devices/rounds.h"

namespace cleave {

struct PartSchedule {
  std::vector<double> start;  // by part
  std::vector<double> end;
  double makespan = 0;  // the end of the last
  // Parts of which each starts when the one before it ends, from the start to the makespan.
  std::vector<std::uint32_t> critical;
};

// By part: the parts that it reads from, ascending, each once. O(n log n).
Adjacency needed_parts(const Adjacency& unit_readers, const Rounds& rounds);

// `devices` and `costs` are by part, in an order in which no part needs a later one. Linear.
PartSchedule schedule_parts(std::span<const DeviceIndex> devices, const Adjacency& needed,
                            std::span<const double> costs);

}  // namespace cleave
