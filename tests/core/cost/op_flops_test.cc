#include "core/cost/op_flops.h"

#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"

namespace cleave {
namespace {

// What the formula gives for the first node; below 0 when it is not known.
double flops(FlopsFormula formula, double number, std::string_view text) {
  const Graph graph = graph_from_text(text);
  return formula(NodeView(graph, NodeId{0}), number).value_or(-1);
}

TEST_CASE("elementwise ops have a fixed cost for each element") {
  const char* const text = "input x: float32[2,3]\ny: float32[4,5] = f(x)";
  CHECK(flops(flops_per_output, 3, text) == 3 * 20);
  CHECK(flops(flops_per_input, 3, text) == 3 * 6);
  CHECK(flops(no_flops, 0, text) == 0);
  CHECK(flops(flops_per_output, 3, "input x: float32[2,n]\ny: float32[2,n] = f(x)") == -1);
}

TEST_CASE("a convolution multiplies each output by the weights of its channel") {
  // 8 outputs of 4 x 4, each the sum of 3 x 5 x 5 products, a product and a sum each.
  CHECK(flops(flops_of_convolution, 1,
              "input x: float32[1,3,8,8]\nparam w: float32[8,3,5,5]\n"
              "y: float32[1,8,4,4] = f(x, w)") == 2.0 * 8 * 16 * 75);
}

TEST_CASE("a transposed convolution multiplies each input by the weights of its channel") {
  // 3 inputs of 8 x 8, each multiplied by 6 x 2 x 2 weights.
  CHECK(flops(flops_of_transposed_convolution, 1,
              "input x: float32[1,3,8,8]\nparam w: float32[3,6,2,2]\n"
              "y: float32[1,6,16,16] = f(x, w)") == 2.0 * 3 * 64 * 24);
}

TEST_CASE("a product of matrices sums over the last dim of its left factor") {
  // 4 x 7 outputs, each the sum of 5 products.
  CHECK(flops(flops_of_product, 0,
              "input a: float32[4,5]\ninput b: float32[5,7]\ny: float32[4,7] = f(a, b)") ==
        2.0 * 28 * 5);
}

TEST_CASE("suppression compares each selected box with every box") {
  const std::string boxes = "input b: float32[1,50,4]\ninput s: float32[1,2,50]\n";
  CHECK(flops(flops_of_suppression, 0, boxes + "y: int64[7,3] = f(b, s)") == 7 * 50 * 12);
  CHECK(flops(flops_of_suppression, 0, boxes + "y: int64[?,3] = f(b, s)") == -1);
}

}  // namespace

}  // namespace cleave
