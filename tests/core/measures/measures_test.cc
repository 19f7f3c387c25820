#include "core/measures/measures.h"

#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"

namespace cleave {
namespace {

TEST_CASE("tensors of which a dim or the rank is not known are listed in order") {
  const Graph graph = graph_from_text(R"(
    input x: float32[1,n]
    input y: float32[2,3]
    input z: float32
    input s: scalar
    param w: float32[?]
    a: float32[2,?] = f(x, w)
    b: float32[] = f(a)
    c: scalar = f(b)
    d: float32[1,2,m] = f(c, y, z, s)
    output d)");
  CHECK(names_of(graph, values_of_unknown_shape(graph)) == "x z a d");
}

}  // namespace
}  // namespace cleave
