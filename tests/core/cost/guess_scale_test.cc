#include "core/cost/guess_scale.h"

#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"

namespace cleave {
namespace {

PerNode<double> table(std::initializer_list<double> numbers) {
  PerNode<double> made(numbers.size());
  std::size_t i = 0;
  for (const double number : numbers) made[id_at<NodeId>(i++)] = number;
  return made;
}

TEST_CASE("unmeasured nodes are guessed in the unit of the measured ones") {
  const Graph graph = graph_from_text(R"(
    input x: float32[4]
    a: float32[4] = Relu(x)
    b: float32[4] = Relu(a)
    c: float32[4] = Exp(b)
    d: float32[4] = Exp(c)
  )");
  // Measured over guessed: 3, 5 and 10; the median is 5.
  const ScaledTimes made = scale_guesses(graph, table({1, 2, 3, 4}), table({3, 10, 30, -1}));
  CHECK(made.times == table({3, 10, 30, 20}));
  CHECK(made.scaled == 1);
}

TEST_CASE("five measured nodes of an op have a scale of their own") {
  const Graph graph = graph_from_text(R"(
    input x: float32[4]
    a: float32[4] = Relu(x)
    b: float32[4] = Relu(a)
    c: float32[4] = Relu(b)
    d: float32[4] = Relu(c)
    e: float32[4] = Relu(d)
    f: float32[4] = Relu(e)
    g: float32[4] = Exp(f)
    h: float32[4] = Exp(g)
    i: float32[4] = Exp(h)
  )");
  const ScaledTimes made = scale_guesses(graph, table({1, 1, 1, 1, 1, 1, 1, 1, 1}),
                                         table({2, 2, 2, 2, 2, -1, 40, 40, -1}));
  CHECK(made.times[NodeId{5}] == 2);
  CHECK(made.times[NodeId{8}] == 2);  // the median of all seven
  CHECK(made.scaled == 2);
}

TEST_CASE("without measurements guesses are unchanged, and unknown times stay unknown") {
  const Graph graph = graph_from_text(R"(
    input x: float32[4]
    a: float32[4] = Relu(x)
    b: float32[4] = Relu(a)
  )");
  CHECK(scale_guesses(graph, table({1, -1}), table({-1, -1})).times == table({1, -1}));
  CHECK(scale_guesses(graph, table({0, 3}), table({7, -1})).times == table({7, 3}));
  CHECK(scale_guesses(graph, table({0, 3}), table({7, -1})).scaled == 0);
  CHECK(scale_guesses(graph, table({2, 3}), table({0, -1})).times == table({0, 3}));
}

}  // namespace
}  // namespace cleave
