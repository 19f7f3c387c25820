// Minimize: the smallest piece that still fails, of a failing one of which the last item is
// necessary.
//
// 1. Cone: only what the last item descends from, when that fails.
// 2. Radius: of the cone what is at most so many edges away from the last item, by bisection; such
//    a set is convex.
// 3. Convex ddmin: leave out a half, a quarter, ... while what is left is convex and fails; at the
//    end no single item can be left out.
#pragma once

#include <functional>

#include "core/lowering/item_order.h"

namespace cleave {

// Whether a convex set fails as the first did. Answers "no" where it is not known.
using FailsTest = std::function<bool(const ItemSet&)>;

struct Minimized {
  ItemSet items;
  bool is_minimal = true;  // every single item was seen, or is known, to be needed
};

// `items` is convex and fails. Asks about log2 of its depth times, then in the worst case, quadratic
// in what is left; in practice a few times its size. Method: Zeller, Hildebrandt 2002.
Minimized smallest_failing_set(const ItemOrder& order, const ItemSet& items,
                               const FailsTest& fails);

}  // namespace cleave
