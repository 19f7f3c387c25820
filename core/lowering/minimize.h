// Minimize: reduces a failing piece whose last item is necessary to the smallest piece that still
// fails.
//
// 1. Cone: keeps only what the last item depends on, if that fails.
// 2. Radius: keeps the items of the cone that are at most so many edges away from the last item, by
//    bisection; such a set is convex.
// 3. Convex ddmin: leaves out a half, a quarter, ... while the rest is convex and fails; at the end
//    no single item can be left out.
#pragma once

#include <functional>

#include "core/lowering/item_order.h"

namespace cleave {

// Whether a convex set fails as the first did. Returns false when that is unknown.
using FailsTest = std::function<bool(const ItemSet&)>;

struct Minimized {
  ItemSet items;
  bool is_minimal = true;  // every single item was tested, or is known, to be needed
};

// `items` is convex and fails. Asks about log2(depth) times, then a number of times that is at
// worst quadratic in what is left; in practice a few times its size. Method: Zeller, Hildebrandt
// 2002.
Minimized smallest_failing_set(const ItemOrder& order, const ItemSet& items,
                               const FailsTest& fails);

}  // namespace cleave
