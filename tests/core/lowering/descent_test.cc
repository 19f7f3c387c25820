#include "core/lowering/descent.h"

#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"

using namespace cleave;

namespace {

std::string names_where(const Graph& graph, const std::vector<bool>& flags) {
  std::string names;
  for (std::size_t i = 0; i < flags.size(); ++i) {
    if (!flags[i]) continue;
    names += (names.empty() ? "" : " ") +
             std::string(graph.value(ValueId{static_cast<std::uint32_t>(i)}).name);
  }
  return names;
}

}  // namespace

TEST_CASE("random values, and values computed from them, are not compared") {
  const Graph graph = graph_from_text(
      "input x: float32[2,2]\n"
      "r = RandomNormalLike(x)\n"
      "a = Relu(x)\n"
      "b = Add(a, r)\n"
      "d = Dropout(a)\n"
      "e = Neg(b)\n"
      "output d, e\n");
  CHECK(names_where(graph, random_values(graph)) == "r b e");
}

TEST_CASE("values after NonZero and similar ops have shapes that depend on data") {
  const Graph graph = graph_from_text(
      "input x: float32[2,2]\n"
      "a = Relu(x)\n"
      "n = NonZero(a)\n"
      "g = Gather(a, n)\n"
      "s = Shape(a)\n"
      "output g, s\n");
  CHECK(names_where(graph, values_shaped_by_data(graph)) == "n g");
}
