#include "core/lowering/minimize.h"

#include <algorithm>
#include <bit>
#include <set>

#include "tests/catch2.h"
#include "tests/core/lowering/fake_backend.h"

namespace cleave {
namespace {

// Fails when all needed items are there. Counts the different sets that were asked about.
struct Trial {
  ItemSet needed;
  std::set<ItemSet> asked = {};

  bool operator()(const ItemSet& set) {
    asked.insert(set);
    return std::includes(set.begin(), set.end(), needed.begin(), needed.end());
  }
};

// Some items of the whole, of which one is the last.
ItemSet some_items(std::mt19937& random, const ItemSet& all, std::size_t count) {
  ItemSet items = all;
  for (std::size_t i = 0; i < count; ++i) {
    std::swap(items[i], items[i + random() % (items.size() - i)]);
  }
  items.resize(count);
  if (std::find(items.begin(), items.end(), all.back()) == items.end()) items.back() = all.back();
  std::sort(items.begin(), items.end());
  return items;
}

TEST_CASE("The smallest failing set takes few runs, and no item of it can be left out") {
  std::size_t runs = 0, left = 0;
  for (std::uint32_t seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    const Graph graph = random_model(seed, 20 + random() % 300);
    std::vector<NodeId> nodes;
    for (const NodeId node : graph.nodes()) nodes.push_back(node);
    const ItemOrder order = order_items(graph, nodes);
    const ItemSet all = all_items(order);
    Trial trial{.needed = some_items(random, all, 2 + random() % 5)};
    const Minimized least = smallest_failing_set(order, all, std::ref(trial));
    INFO("seed " << seed);
    REQUIRE(trial(least.items));
    for (const std::uint32_t item : least.items) {
      const ItemSet rest = without(least.items, std::span(&item, 1));
      CHECK((!is_convex(order, rest) || !trial(rest)));
    }
    runs += trial.asked.size();
    left += least.items.size();
  }
  CAPTURE(runs, left);
  CHECK(runs < left);  // most of what is left need not be tried, since without it no set is convex
}

}  // namespace
}  // namespace cleave
