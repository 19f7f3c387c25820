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

TEST_CASE("a pool reads its window, of which one number stands for all dims") {
  const auto pool = [](const std::string& attributes, const std::string& shape = "1,3,4,5") {
    return flops(
        flops_of_pooling, 0,
        "input x: float32[1,3,9,9]\ny: float32[" + shape + "] = f(x) {" + attributes + "}");
  };
  CHECK(pool("kernel_shape=[2,7]") == 60 * 14);
  CHECK(pool("kernel_size=[2,7]") == 60 * 14);
  CHECK(pool("kernel_size=3") == 60 * 9);
  CHECK(pool("kernel_size=3", "3,4,5") == 60 * 3);
  CHECK(pool("kernel_size=3", "1,1,3,4,5") == 60 * 27);
  CHECK(pool("other=3") == -1);
  CHECK(pool("kernel_shape=\"a\", kernel_size=3") == 60 * 9);  // of another type: not that one
}

TEST_CASE("resizing weighs the elements around each output, and the nearest costs nothing") {
  const auto resized = [](const std::string& attributes, double number, const std::string& shape) {
    return flops(flops_of_resize, number,
                 "input x: float32[1,3,9,9]\ny: float32[" + shape + "] = f(x)" + attributes);
  };
  CHECK(resized(" {mode=\"nearest\"}", 1, "1,3,4,5") == 0);
  CHECK(resized("", 0, "1,3,4,5") == 0);
  CHECK(resized("", 1, "1,3,4,5") == 60 * 4);
  CHECK(resized(" {mode=\"linear\"}", 0, "1,3,4,5") == 60 * 4);
  CHECK(resized(" {mode=\"cubic\"}", 0, "1,3,4,5") == 60 * 16);
  CHECK(resized(" {mode=\"linear\"}", 0, "3,4,5") == 60 * 2);
  CHECK(resized(" {mode=\"linear\"}", 0, "4,5") == -1);
}

TEST_CASE("a node's view tells what it reads, and says of the rest that it is not known") {
  const Graph graph = graph_from_text(
      "input x: float32[2,n,5]\ninput u: float32\ninput s: scalar\n"
      "y: float32[2,3] = f(x, u, s) {a=1, b=0, t=\"t\", l=[4,5]}");
  const NodeView node(graph, NodeId{0});
  CHECK_FALSE(node.elements(std::nullopt));
  CHECK_FALSE(node.elements(node.input(0)));
  CHECK_FALSE(node.elements(node.input(1)));
  CHECK_FALSE(node.elements(node.input(2)));
  CHECK(node.elements(node.output()) == 6);
  CHECK(node.rank(node.input(0)) == 3);
  CHECK(node.rank(node.input(1)) == 0);
  CHECK(node.rank(std::nullopt) == 0);
  CHECK(node.dim_from_end(node.input(0), 1) == 5);
  CHECK_FALSE(node.dim_from_end(node.input(0), 2));
  CHECK(node.dim_from_end(node.input(0), 3) == 2);
  CHECK_FALSE(node.dim_from_end(node.input(0), 4));
  CHECK_FALSE(node.dim_from_end(node.input(1), 1));
  CHECK_FALSE(node.dim_from_end(std::nullopt, 1));
  CHECK(node.integers({"t", "no", "l"}) == std::vector<std::int64_t>{4, 5});
  CHECK(node.integers({"no"}).empty());
  CHECK(node.is_set({"a"}));
  CHECK_FALSE(node.is_set({"b"}));
  CHECK_FALSE(node.is_set({"no"}));
  CHECK(node.text({"a", "t"}) == "t");
  CHECK(node.text({"a"}).empty());
}

}  // namespace

}  // namespace cleave
