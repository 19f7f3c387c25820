// Minimum cuts of a placement problem with several devices. They do not see parts: what they make
// small is the cost with launches in proportion to the values that cross, and values kept where they
// are (charged_cost).
#pragma once

#include "core/devices/problem.h"

namespace cleave {

// What crossing values are charged.
struct DeviceCharges {
  double link = 1;    // factor on their costs
  double launch = 0;  // the share of a launch of the target that a value enters
};

double charged_cost(const DeviceProblem& problem, const LinkCosts& links, const Devices& devices,
                    const DeviceCharges& charges);

// Expansion: of all units that accept device `to`, those go there with which the charged cost is
// least, while the others stay where they are. One minimum cut, exact unless there are direct links:
// then units are taken to stay where the cost of one depends on whether another does. Method: Boykov,
// Veksler, Zabih 2001. Close to linear.
Devices expand_device(const DeviceProblem& problem, const LinkCosts& links, const Devices& devices,
                      DeviceIndex to, const DeviceCharges& charges);

// Expansions of one device after the other, until none makes the charged cost less, or each device
// has had `most_rounds`.
Devices expand_all(const DeviceProblem& problem, const LinkCosts& links, Devices devices,
                   const DeviceCharges& charges, std::size_t most_rounds = 100);

// No placement costs less: the better of two bounds, plus a launch unless all on the host costs less
// still. One takes all targets as one, in which each unit costs what it does on its best target. The
// other is a sum of minimum cuts, of each target against all other devices: what a unit costs above
// its best device is shared by the cuts that decide on it.
double least_cost(const DeviceProblem& problem);

}  // namespace cleave
