#include "core/lowering/item_order.h"

#include <algorithm>

#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"
#include "tests/core/lowering/fake_backend.h"

namespace cleave {
namespace {

ItemOrder order_of(const Graph& graph) {
  std::vector<NodeId> nodes;
  for (const NodeId node : graph.nodes()) nodes.push_back(node);
  return order_items(graph, nodes);
}

std::string names_in_order(const Graph& graph) {
  const ItemOrder order = order_of(graph);
  std::string names;
  for (std::uint32_t item = 0; item < order.count(); ++item) {
    names += (item == 0 ? "" : " ") + std::string(graph.node(order.first_node(item)).name);
  }
  return names;
}

// By the definition: some path between two of the set over one that is not. Cubic.
bool is_plainly_convex(const ItemOrder& order, const ItemSet& set) {
  for (std::uint32_t outside = 0; outside < order.count(); ++outside) {
    if (std::binary_search(set.begin(), set.end(), outside)) continue;
    const ItemSet above = cone_of(order, all_items(order), outside);
    const ItemSet below = descendants_of(order, all_items(order), outside);
    const auto meets = [&set](const ItemSet& others) {
      return std::any_of(others.begin(), others.end(), [&set](std::uint32_t item) {
        return std::binary_search(set.begin(), set.end(), item);
      });
    };
    if (meets(above) && meets(below)) return false;
  }
  return true;
}

TEST_CASE("The order keeps the nodes of a branch together") {
  CHECK(names_in_order(graph_from_text(R"(
    input x
    a1 = f(x)
    b1 = f(x)
    a2 = f(a1)
    b2 = f(b1)
    j = f(b2, a2)
    output j)")) == "a1 b1 a2 b2 j");
  CHECK(names_in_order(graph_from_text(R"(
    input x
    a1 = f(x)
    a2 = f(a1)
    b1 = f(x)
    b2 = f(b1)
    j = f(b2, a2)
    output j)")) == "a1 a2 b1 b2 j");
}

TEST_CASE("Every item comes after what it reads, and any run of neighbours is convex") {
  for (std::uint32_t seed = 0; seed < 50; ++seed) {
    const Graph graph = random_model(seed, 30);
    const ItemOrder order = order_of(graph);
    REQUIRE(order.count() == 30);
    std::mt19937 random(seed);
    for (std::uint32_t item = 0; item < order.count(); ++item) {
      for (const std::uint32_t other : order.reads.of(item)) CHECK(other < item);
    }
    const auto begin = static_cast<std::uint32_t>(random() % 20);
    ItemSet run;
    for (std::uint32_t item = begin; item < begin + 10; ++item) run.push_back(item);
    CHECK(is_convex(order, run));
    CHECK(is_plainly_convex(order, run));
  }
}

TEST_CASE("is_convex() agrees with the definition of convexity") {
  std::size_t convex = 0;
  for (std::uint32_t seed = 0; seed < 400; ++seed) {
    const Graph graph = random_model(seed, 14);
    const ItemOrder order = order_of(graph);
    std::mt19937 random(seed);
    ItemSet set;
    for (std::uint32_t item = 0; item < order.count(); ++item) {
      if (random() % 3 != 0) set.push_back(item);
    }
    CHECK(is_convex(order, set) == is_plainly_convex(order, set));
    CHECK(is_convex(order, {}));
    convex += is_convex(order, set) ? 1U : 0U;
  }
  CHECK(convex > 10);
  CHECK(convex < 390);
}

TEST_CASE("Cones, distances and descendants follow the edges of the set") {
  const Graph graph = graph_from_text(R"(
    input x
    a = f(x)
    b = f(a)
    c = f(a, b)
    d = f(x)
    e = f(c, d)
    output e)");
  const ItemOrder order = order_of(graph);  // a b c d e
  const ItemSet cone = cone_of(order, {{0, 1, 2, 3}}, 2);
  CHECK(cone == ItemSet{0, 1, 2});
  CHECK(distances_to_last(order, cone) == std::vector<std::uint32_t>{2, 1, 0});
  CHECK(descendants_of(order, all_items(order), 1) == ItemSet{2, 4});
  CHECK(without(all_items(order), cone) == ItemSet{3, 4});
}

}  // namespace
}  // namespace cleave
