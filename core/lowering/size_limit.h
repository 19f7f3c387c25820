// Size limit: whether a backend fails on pieces of more than so many items, whichever they are. Then no
// node of a piece is to blame, though without its last one it passes.
//
// A few other pieces of the same size, and of one item less, tell: those that begin one item later, and the
// last of the region.
#pragma once

#include <cstddef>

#include "core/lowering/culprit_search.h"
#include "core/lowering/item_order.h"
#include "core/lowering/oracle.h"

namespace cleave {

// A piece of `length` items of `region` fails, and without its last one passes. True when all others of that
// size that are asked about fail as `region` does, and all of one item less pass. At most 4 runs.
bool is_limit_of_size(Questions& questions, const ItemOrder& order, const FailingSet& region,
                      std::size_t length);

}  // namespace cleave
