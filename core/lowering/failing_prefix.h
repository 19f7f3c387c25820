// Failing prefix: the shortest prefix of an ordered set that fails, found by bisection. Its last
// item is necessary: without it, the prefix passes.
//
// The method assumes that a piece that contains a failing piece fails too. The last two answers
// verify the result in any case: the prefix fails, and the prefix without its last item passes.
//
// A prefix that fails in another way, or is unresolved, counts as neither pass nor fail: the search
// tries the nearest cuts, up to 8 items away. If none of these is resolved, or the same other
// failure occurs twice (so that the cut did not cause it), the search continues after it.
#pragma once

#include <cstddef>
#include <string>

#include "core/lowering/questions.h"

namespace cleave {

struct FailingSet {
  const ItemSet& items;          // convex, in item order; it fails
  const Remedies& remedies;      // the remedies under which it fails
  const std::string& signature;  // how it fails; empty: in any way
  std::size_t good = 0;          // number of first items known to pass together
};

struct FailingPrefix {
  std::size_t length = 0;
  bool is_sharp = false;  // the prefix shorter by one item was seen to pass
};

// Asks ceil(log2 n) times for n items not known to pass, and up to 8 more times for each unresolved
// cut.
FailingPrefix smallest_failing_prefix(Questions& questions, const FailingSet& failing);

// The first `length` of the items.
ItemSet prefix_of(const ItemSet& items, std::size_t length);

}  // namespace cleave
