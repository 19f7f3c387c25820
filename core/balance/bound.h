// Lower bounds on the objective of any assignment, each named by its certificate.
//
// "work": all compute, spread evenly over the devices. "single-node": every item has to run on some
// device. "path-mincut": take a chain of groups, each after the one before. Any pipeline cuts it
// into runs, one run a stage. A stage that holds exactly the run a..b of the chain
//   must hold what lies between them       (after a, before b)
//   cannot hold what lies before a-1 or after b+1
// so it pays at least m(a,b), the minimum cut of the nets that separates the two sets. It takes at
// least f(a,b), the same minimum cut where each undecided group may also come along at the price of
// its time. An objective T cannot be reached when no cut of the chain into runs with f <= T leaves
// devices with room for all the work after paying m for every run. Bisection finds the least T that
// can be reached.
#pragma once

#include <cstdint>
#include <string>

#include "core/balance/instance.h"
#include "core/balance/search.h"

namespace cleave::balance {

struct BoundOptions {
  double reached = kUnlimited;  // an objective known to be reachable: no bound is above it
  // limit of the work on minimum cuts; a cut not computed counts as 0
  std::uint64_t flow_steps = 0;
  const Deadline* deadline = nullptr;
  const Progress* progress = nullptr;
};

struct Bound {
  double objective = 0;  // no assignment is below it; slightly rounded down
  std::string certificate;
};

// The bounds "work" and "single-node". O(n log n).
Bound simple_bound(const Instance& instance);

// The bound "path-mincut" over some chains, and single groups with what they must bring along;
// never below simple_bound().
Bound flow_bound(const Instance& instance, const BoundOptions& options);

}  // namespace cleave::balance
