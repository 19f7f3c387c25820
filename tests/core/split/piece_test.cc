#include "core/split/piece.h"

#include <algorithm>

#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"
#include "tests/core/graph/random_graph.h"

namespace cleave {
namespace {

const char* const kText = R"(
  input x
  param w
  const k = Cast(w)
  a = f(x, w)
  b = g(a)
  c = h(a, k)
  d = f(b, c)
  output d, b)";

std::vector<NodeId> nodes_of(const Graph& graph, std::string_view names) {
  const NodeSet set = nodes_named(graph, names);
  std::vector<NodeId> nodes;
  for (const NodeId node : graph.nodes()) {
    if (set.contains(node)) nodes.push_back(node);
  }
  return nodes;
}

std::string boundary_of(std::string_view names) {
  const Graph graph = graph_from_text(kText);
  const Partition piece = make_piece(graph, nodes_of(graph, names), "piece");
  return describe(graph, piece, find_piece_boundary(graph, piece));
}

TEST_CASE("A piece's inputs are what it reads; its outputs are what others read") {
  CHECK(boundary_of("a") == "piece(x; w) -> a\n");
  CHECK(boundary_of("b c") == "piece(a; w k) -> b c\n");
  CHECK(boundary_of("a b c d") == "piece(x; w k) -> b d\n");
}

TEST_CASE("A detour around a piece is reported with its nodes") {
  const Graph graph = graph_from_text(kText);
  const auto gap = find_detour(graph, nodes_of(graph, "a b d"));
  REQUIRE(gap);
  CHECK(names_of(graph, std::vector{gap->from, gap->over, gap->to}) == "a c d");
  CHECK_FALSE(find_detour(graph, nodes_of(graph, "a b c")));
  CHECK_FALSE(find_detour(graph, nodes_of(graph, "b c")));
  CHECK_FALSE(find_detour(graph, {}));
}

TEST_CASE("A piece has the boundary that it has as a part of a partition with the rest") {
  std::size_t compared = 0;
  for (std::uint32_t seed = 0; seed < 300; ++seed) {
    const RandomGraph random = random_graph(seed, 20);
    const Graph& graph = random.graph;
    INFO(random.text);
    std::vector<NodeId> nodes;
    const std::size_t begin = seed % graph.node_count();
    for (const NodeId node : IdRange<NodeId>(begin, graph.node_count())) {
      if (nodes.size() < 6) nodes.push_back(node);
    }
    REQUIRE_FALSE(find_detour(graph, nodes));  // neighbours in topological order
    const Partition piece = make_piece(graph, nodes, "p");
    const Boundaries alone = find_piece_boundary(graph, piece);
    PerNode<PartId> part_of(graph.node_count(), PartId{1});
    for (const NodeId node : nodes) part_of[node] = PartId{0};
    const Partition two = make_partition(part_of, {"p", "rest"}, {});
    const Boundaries both = find_boundaries(graph, two);
    const auto same = [](auto one, auto other) {
      std::vector left(one.begin(), one.end());
      std::vector right(other.begin(), other.end());
      std::sort(left.begin(), left.end());
      std::sort(right.begin(), right.end());
      return left == right;
    };
    CHECK(same(alone.inputs[PartId{0}], both.inputs[PartId{0}]));
    CHECK(same(alone.outputs[PartId{0}], both.outputs[PartId{0}]));
    CHECK(same(alone.parameters[PartId{0}], both.parameters[PartId{0}]));
    CHECK(
        same(needed_constants(graph, alone, PartId{0}), needed_constants(graph, both, PartId{0})));
    ++compared;
  }
  CHECK(compared == 300);
}

TEST_CASE("Between tensors are the nodes that the last need, up to the first") {
  const Graph graph = graph_from_text(kText);
  const auto between = [&](const std::vector<std::string>& from,
                           const std::vector<std::string>& to) {
    std::vector<ValueId> first, last;
    for (const std::string& name : from) first.push_back(value_named(graph, name));
    for (const std::string& name : to) last.push_back(value_named(graph, name));
    std::string names;
    for (const NodeId node : nodes_between(graph, first, last)) names += graph.node(node).name;
    return names;
  };
  CHECK(between({"a"}, {"d"}) == "bcd");
  CHECK(between({"b"}, {"d"}) == "acd");
  CHECK(between({}, {"b"}) == "ab");
  CHECK(between({"b", "c"}, {"d"}) == "d");
  CHECK(between({"b"}, {"b"}).empty());
  CHECK(between({"a"}, {}).empty());
}

std::vector<ValueId> values_of(const Graph& graph, const std::vector<std::string>& names) {
  std::vector<ValueId> values;
  for (const std::string& name : names) values.push_back(value_named(graph, name));
  return values;
}

TEST_CASE("After tensors are the outputs that nodes compute from them") {
  const Graph graph = graph_from_text(R"(
    input x
    input y
    a = f(x)
    b = g(a)
    c = h(y)
    output c, b, a, b)");
  const auto after = [&](const std::vector<std::string>& from) {
    std::string names;
    for (const ValueId value : outputs_after(graph, values_of(graph, from))) {
      names += graph.value(value).name;
    }
    return names;
  };
  CHECK(after({"x"}) == "ba");
  CHECK(after({"a"}) == "b");
  CHECK(after({"a", "b"}).empty());
  CHECK(after({"y", "x"}) == "cba");
  CHECK(after({}).empty());
}

TEST_CASE("A piece by tensors has the inputs and outputs that it is asked for, in their order") {
  const Graph graph = graph_from_text(R"(
    input x
    input y
    param w
    a = f(x, w)
    b = g(a)
    c = h(b, a)
    d = f(c, y)
    e = f(x, d)
    output d)");
  const auto piece = [&](const std::vector<std::string>& from, const std::vector<std::string>& to) {
    const PieceEnds ends{.from = values_of(graph, from), .to = values_of(graph, to)};
    const auto nodes = nodes_between(graph, ends.from, ends.to);
    const Partition part = make_piece(graph, nodes, "p");
    return describe(graph, part, find_piece_boundary(graph, part, &ends));
  };
  CHECK(piece({"b", "a"}, {"c"}) == "p(b a;) -> c\n");
  CHECK(piece({"c"}, {"e", "d"}) == "p(c x y;) -> e d\n");
  CHECK(piece({}, {"c", "a"}) == "p(x; w) -> c a\n");
  CHECK(piece({"y", "b"}, {"c"}) == "p(y b x; w) -> c\n");
}

}  // namespace
}  // namespace cleave
