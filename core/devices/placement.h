// Finds a placement on several devices that costs little, and a bound that none is below. With one
// target and the host, core/placement does the same, and knows more about launches.
//
// Steps:
// 1. with few units: every placement is tried;
// 2. otherwise starts: each order of the targets, all on the host, each unit where it costs least;
//    from the best, expansions by minimum cuts, with growing shares of a launch;
// 3. where a target cannot hold it: cuts with a price of a byte there, found by bisection; then some
//    units go back. The search is done twice then, the second time from the best without limits, too,
//    and then for less memory: what is found there fits as well;
// 4. local search by the true cost: parts, pieces of parts, and single units change their device, or
//    change places where memory is short;
// 5. from random changes of the best placement the search goes on, until the effort is spent.
#pragma once

#include <cstdint>

#include "core/devices/problem.h"

namespace cleave {

struct DeviceEffort {
  std::uint64_t steps = 60'000'000;   // limit of units and readers that the search visits
  std::uint32_t most_tried = 16'384;  // up to this many placements, all are tried
};

enum class DeviceProof : std::uint8_t {
  none,        // the bound is lower than the cost
  bound,       // the cost is the bound: no placement costs less
  exhaustive,  // every placement was tried
};

struct DevicePlacement {
  Devices devices;
  // Where units would be if no memory were limited; empty where that fits, and is what `devices` is.
  Devices without_limits = {};
  Rounds rounds;
  DeviceScore score;  // a penalty above 0: nothing that was tried fits; peak_bytes is what it needs
  double bound = 0;   // no placement costs less, even if it did not have to fit
  DeviceProof proof = DeviceProof::none;
};

// Each unit on the first device of the list that accepts it, else on the host, else on the first that
// does.
Devices place_in_order(const DeviceProblem& problem, const std::vector<DeviceIndex>& order);

// The score where all that the host accepts is there: of a target that then holds more than its memory,
// or has more parts than it can, no placement is known to fit.
DeviceScore least_use(const DeviceProblem& problem);

// Not worse than any order of up to four targets, nor than all on the host, nor than `start`, which
// may be empty. Deterministic. Close to linear, plus the effort.
DevicePlacement find_device_placement(const DeviceProblem& problem, const Devices& start = {},
                                      const DeviceEffort& effort = {});

}  // namespace cleave
