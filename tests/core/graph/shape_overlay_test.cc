#include "core/graph/shape_overlay.h"

#include <optional>
#include <vector>

#include "core/cost/cost.h"
#include "core/graph/graph.h"
#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"

namespace cleave {
namespace {

const char* const kOpen = R"(
  input x: float32[n,8]
  a: float32[n,8] = Relu(x)
  b: float32[n,4] = Slice(a)
  output b)";

ValueId output_of(const Graph& graph, const char* node) {
  return graph.outputs(node_named(graph, node))[0];
}

TEST_CASE("a graph with shapes shows them, and the graph below keeps its own") {
  const Graph graph = graph_from_text(kOpen);
  ShapeOverlay shapes;
  const std::vector<std::int64_t> sizes = {3, 8};
  shapes.add(output_of(graph, "a"), sizes);
  const Graph seen = graph.with_shapes(shapes);
  CHECK(value_bytes(seen, output_of(seen, "a")) == 3 * 8 * 4);
  CHECK(seen.shape(output_of(seen, "b"))[0].is_symbol());
  CHECK(seen.shape(output_of(seen, "b"))[1].size() == 4);
  CHECK_FALSE(value_bytes(graph, output_of(graph, "a")));
}

TEST_CASE("of two shapes for a value the first holds") {
  const Graph graph = graph_from_text(kOpen);
  ShapeOverlay shapes;
  shapes.add(output_of(graph, "a"), std::vector<std::int64_t>{3, 8});
  shapes.add(output_of(graph, "a"), std::vector<std::int64_t>{5});
  CHECK(graph.with_shapes(shapes).shape(output_of(graph, "a")).size() == 2);
}

TEST_CASE("shapes are laid over shapes") {
  const Graph graph = graph_from_text(kOpen);
  ShapeOverlay first, second;
  first.add(output_of(graph, "a"), std::vector<std::int64_t>{3, 8});
  second.add(output_of(graph, "b"), std::vector<std::int64_t>{3, 4});
  const Graph seen = graph.with_shapes(first).with_shapes(second);
  CHECK(value_bytes(seen, output_of(seen, "a")) == 3 * 8 * 4);
  CHECK(value_bytes(seen, output_of(seen, "b")) == 3 * 4 * 4);
}

TEST_CASE("a graph with shapes lives on without the graph below") {
  std::optional<Graph> graph = graph_from_text(kOpen);
  ShapeOverlay shapes;
  shapes.add(output_of(*graph, "a"), std::vector<std::int64_t>{});
  const Graph seen = graph->with_shapes(shapes);
  graph.reset();
  CHECK(seen.op(node_named(seen, "a")) == "Relu");
  CHECK(seen.has_rank(output_of(seen, "a")));
  CHECK(seen.shape(output_of(seen, "a")).empty());
  CHECK(seen.with_shapes({}).node_count() == 2);
}

}  // namespace
}  // namespace cleave
