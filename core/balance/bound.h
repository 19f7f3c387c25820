// How good any assignment could be at best.
//
// "work": all compute, spread evenly. "single-node": an item has to run somewhere. "path-mincut":
// take a chain of groups, each after the one before. Any pipeline cuts it into runs, a stage each.
// A stage that holds just the run a..b of the chain
//   must hold what lies between them       (after a, before b)
//   cannot hold what lies before a-1 or after b+1
// so it pays at least the minimum cut of the nets that separates the two, m(a,b); and takes at
// least f(a,b), the minimum cut with each undecided group's time to pay if it comes along. An
// objective T is out of reach when no cut of the chain into runs with f <= T leaves, after the m of
// all runs, devices with room for all the work. The least T within reach is found by bisection.
#pragma once

#include <cstdint>
#include <string>

#include "core/balance/instance.h"
#include "core/balance/search.h"

namespace cleave::balance {

struct BoundOptions {
  double reached = kUnlimited;   // an objective known to be reachable: no bound is above
  std::uint64_t flow_steps = 0;  // work on minimum cuts; what is not cut counts as free
  const Deadline* deadline = nullptr;
  const Progress* progress = nullptr;
};

struct Bound {
  double objective = 0;  // no assignment is better; slightly rounded down
  std::string certificate;
};

// The first two. O(n log n).
Bound simple_bound(const Instance& instance);

// The third, and single groups with what they must bring along, over some chains; never worse than
// the first two.
Bound flow_bound(const Instance& instance, const BoundOptions& options);

}  // namespace cleave::balance
