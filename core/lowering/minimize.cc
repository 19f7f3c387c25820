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

  ItemSet run(ItemSet set) const {
    std::size_t chunks = 2;
    while (set.size() > 1) {
      if (leave_one_chunk_out(set, chunks)) {
        chunks = std::max<std::size_t>(chunks - 1, 2);
      } else if (chunks >= set.size()) {
        break;
      } else {
        chunks = std::min(2 * chunks, set.size());
      }
    }
    return set;
  }

 private:
  bool leave_one_chunk_out(ItemSet& set, std::size_t chunks) const {
    for (std::size_t i = 0; i < chunks; ++i) {
      const ItemSet chunk = chunk_of(set, i * set.size() / chunks, (i + 1) * set.size() / chunks);
      ItemSet rest = without(set, chunk);
      if (rest.empty() || !is_convex(order_, rest) || !fails_(rest)) continue;
      set = std::move(rest);
      return true;
    }
    return false;
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
