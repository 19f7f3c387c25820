// Failing prefix: the shortest beginning of an ordered set that fails, by bisection. Its last item
// is necessary: without it, the beginning passes.
//
// Assumes that what contains a failing piece fails. The last two answers verify the result whether
// or not this holds: the prefix fails, and the one shorter by an item passes.
//
// A prefix that fails in another way, or is not resolved, is neither pass nor fail: the search goes
// to the nearest cut, up to 8 items away. Where none is resolved, or the same other failure is met
// twice (then it is one of its own, not one that the cut made), the failure is taken to lie behind.
#pragma once

#include <cstddef>
#include <string>

#include "core/lowering/questions.h"

namespace cleave {

struct FailingSet {
  const ItemSet& items;          // convex, in item order; it fails
  const Remedies& remedies;      // under these
  const std::string& signature;  // in this way; empty: in any way
  std::size_t good = 0;          // so many of the first items are known to pass together
};

struct FailingPrefix {
  std::size_t length = 0;
  bool is_sharp = false;  // the prefix shorter by one item was seen to pass
};

// Asks ceil(log2 n) times, of n items that are not known to pass; up to 8 more for each cut that is
// not resolved.
FailingPrefix smallest_failing_prefix(Questions& questions, const FailingSet& failing);

// The first `length` of the items.
ItemSet prefix_of(const ItemSet& items, std::size_t length);

}  // namespace cleave
