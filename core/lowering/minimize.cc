#include "core/lowering/minimize.h"

#include <algorithm>

namespace cleave {
namespace {

ItemSet within_distance(const ItemSet& cone, const std::vector<std::uint32_t>& distances,
                        std::uint32_t most) {
  ItemSet set;
  for (std::size_t i = 0; i < cone.size(); ++i) {
    if (distances[i] <= most) set.push_back(cone[i]);
  }
  return set;
}

// The part of the cone within the smallest distance at which it fails.
ItemSet smallest_radius(const ItemOrder& order, const ItemSet& cone, const FailsTest& fails) {
  const std::vector<std::uint32_t> distances = distances_to_last(order, cone);
  std::uint32_t low = 0;  // alone, the last item passes
  std::uint32_t high = *std::max_element(distances.begin(), distances.end());
  while (high > low + 1) {
    const std::uint32_t middle = (low + high) / 2;
    if (fails(within_distance(cone, distances, middle))) {
      high = middle;
    } else {
      low = middle;
    }
  }
  return within_distance(cone, distances, high);
}

// The items [begin, end) of the set.
ItemSet chunk_of(const ItemSet& set, std::size_t begin, std::size_t end) {
  return {set.begin() + static_cast<std::ptrdiff_t>(begin),
          set.begin() + static_cast<std::ptrdiff_t>(end)};
}

class ConvexDdmin {
 public:
  ConvexDdmin(const ItemOrder& order, const FailsTest& fails) : order_(order), fails_(fails) {}

  // Tries the chunks in turn, round and round, until a whole round leaves none out; then halves
  // them. After a chunk is left out, the turn goes on with the next one: those before it were just
  // needed, and are asked about again only at the end of the round.
  ItemSet run(ItemSet set) const {
    std::size_t chunks = 2, next = 0, needed = 0;  // needed: chunks in a row
    while (set.size() > 1) {
      if (needed == chunks) {
        if (chunks >= set.size()) break;
        chunks = std::min(2 * chunks, set.size());
        next = needed = 0;
      }
      if (leave_out(set, next, chunks)) {
        chunks = std::min(std::max<std::size_t>(chunks - 1, 2), set.size());
        needed = 0;
      } else {
        ++next;
        ++needed;
      }
      if (next >= chunks) next = 0;
    }
    return set;
  }

 private:
  bool leave_out(ItemSet& set, std::size_t i, std::size_t chunks) const {
    const ItemSet chunk = chunk_of(set, i * set.size() / chunks, (i + 1) * set.size() / chunks);
    ItemSet rest = without(set, chunk);
    if (rest.empty() || !is_convex(order_, rest) || !fails_(rest)) return false;
    set = std::move(rest);
    return true;
  }

  const ItemOrder& order_;
  const FailsTest& fails_;
};

}  // namespace

Minimized smallest_failing_set(const ItemOrder& order, const ItemSet& items,
                               const FailsTest& fails) {
  ItemSet set = cone_of(order, items, items.back());
  if (set.size() < items.size() && !fails(set)) {
    set = items;
  } else if (set.size() > 1) {
    set = smallest_radius(order, set, fails);
  }
  return {.items = ConvexDdmin(order, fails).run(std::move(set))};
}

}  // namespace cleave
