// FLOPs of TensorFlow Lite's ops, from the layouts of their weights.
#include <string>

#include "core/cost/op_flops.h"
#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"

namespace cleave {
namespace {

// The FLOPs of the node "y"; below 0 when they are not known.
double flops(const std::string& text) {
  const Graph graph = graph_from_text(text);
  return op_flops(graph, node_named(graph, "y")).value_or(-1);
}

// The FLOPs of a node that reads a tensor of 2 x 3 and makes one of 4 x 5.
double flops_of_op(const std::string& op, const std::string& attributes = "") {
  return flops("input x: float32[2,3]\ny: float32[4,5] = tflite::" + op + "(x)" + attributes);
}

TEST_CASE("TensorFlow Lite's convolutions multiply each output by the weights of its channel") {
  const std::string conv =
      "input x: float32[1,8,8,7]\nparam w: float32[6,3,2,7]\n"
      "y: float32[1,4,5,6] = tflite::CONV_2D(x, w)";
  CHECK(flops(conv) == 2 * 120 * 42);
  CHECK(flops(conv + " {fused_activation_function=\"NONE\"}") == 2 * 120 * 42);
  CHECK(flops(conv + " {fused_activation_function=\"RELU\"}") == 2 * 120 * 42 + 120);
  const std::string conv3d =
      "input x: float32[1,8,8,8,5]\nparam w: float32[2,3,4,5,6]\n"
      "y: float32[1,2,2,2,6] = tflite::CONV_3D(x, w)";
  CHECK(flops(conv3d) == 2 * 48 * 120);
  CHECK(flops(conv3d + " {fused_activation_function=\"RELU\"}") == 2 * 48 * 120 + 48);
}

TEST_CASE("A depthwise convolution multiplies each output by the weights of a kernel") {
  const auto depthwise = [](const std::string& weight, const std::string& attributes = "") {
    return flops("input x: float32[1,8,8,8]\nparam w: " + weight +
                 "\ny: float32[1,4,4,8] = tflite::DEPTHWISE_CONV_2D(x, w)" + attributes);
  };
  CHECK(depthwise("float32[1,3,5,8]") == 2 * 128 * 15);
  CHECK(depthwise("float32[1,3,5,8]", " {fused_activation_function=\"RELU6\"}") ==
        2 * 128 * 15 + 128);
  CHECK(depthwise("float32[3,8]") == 2 * 128);
  CHECK(depthwise("float32[8]") == -1);
  CHECK(depthwise("float32[1,n,5,8]") == -1);
}

TEST_CASE("A transposed convolution multiplies each input by the weights that read it") {
  const std::string text =
      "input s: int32[4]\nparam w: float32[6,3,2,7]\ninput x: float32[1,4,4,7]\n"
      "y: float32[1,8,8,6] = tflite::TRANSPOSE_CONV(s, w, x)";
  CHECK(flops(text) == 2 * 112 * 36);
  CHECK(flops(text + " {fused_activation_function=\"RELU\"}") == 2 * 112 * 36 + 384);
}

TEST_CASE("Dense layers and products of matrices sum over the dims that both factors have") {
  const std::string dense =
      "input x: float32[3,20]\nparam w: float32[10,20]\n"
      "y: float32[3,10] = tflite::FULLY_CONNECTED(x, w)";
  CHECK(flops(dense) == 2 * 30 * 20);
  CHECK(flops(dense + " {fused_activation_function=\"RELU\"}") == 2 * 30 * 20 + 30);
  const auto product = [](const std::string& left, const std::string& attributes) {
    return flops("input a: " + left + "\ninput b: float32[2,5,7]\n" +
                 "y: float32[2,4,7] = tflite::BATCH_MATMUL(a, b)" + attributes);
  };
  CHECK(product("float32[2,4,5]", "") == 2 * 56 * 5);
  CHECK(product("float32[2,4,5]", " {adj_x=0}") == 2 * 56 * 5);
  CHECK(product("float32[2,5,4]", " {adj_x=1}") == 2 * 56 * 5);
}

TEST_CASE("An LSTM uses each weight once a step, and each hidden unit has gates") {
  const std::string names =
      "input x: float32[2,3,4]\nparam i: float32[5,4]\nparam r: float32[5,5]\n"
      "param c: float32[5]\nparam b: float32[5]\nparam p: float32[3,5]\nparam q: float32[3]\n";
  CHECK(flops(names +
              "y: float32[2,3,3] = tflite::UNIDIRECTIONAL_SEQUENCE_LSTM(x, i, i, i, i, r, r, r, r, "
              "c, c, c, b, b, b, b, p, q)") ==
        6 * (2 * (4 * 20 + 4 * 25 + 15) + 4 * 5 + 3) + 9 * 6 * 5);
  CHECK(flops(names + "y: float32[2,3,3] = tflite::LSTM(x, _, i, i, i, _, r, r, r, "
                      "_, _, _, _, b, b, b, _, _)") ==
        6 * (2 * (3 * 20 + 3 * 25) + 3 * 5) + 9 * 6 * 5);
}

TEST_CASE("Two LSTMs count the weights and biases of both directions") {
  const std::string names =
      "input x: float32[2,3,4]\nparam w: float32[5,4]\nparam b: float32[5]\nparam c: float32[7]\n";
  std::string operands = "x";
  double weights = 0, biases = 0;
  for (int position = 1; position <= 34; ++position) {
    const bool is_weight = (position >= 1 && position <= 8) || position == 16 ||
                           (position >= 18 && position <= 25) || position == 33;
    const bool is_bias = (position >= 12 && position <= 15) || position == 17 ||
                         (position >= 29 && position <= 32) || position == 34;
    operands += is_weight ? ", w" : is_bias ? ", b" : ", c";
    weights += is_weight ? 20 : 0;
    biases += is_bias ? 5 : 0;
  }
  CHECK(flops(names + "y: float32[2,3,5] = tflite::BIDIRECTIONAL_SEQUENCE_LSTM(" + operands +
              ")") == 6 * (2 * weights + biases) + 2 * 9 * 6 * 5);
}

TEST_CASE("Recurrent layers use each weight once a step, and a bias with its activation") {
  const std::string names =
      "input x: float32[2,3,4]\nparam i: float32[5,4]\nparam r: float32[5,5]\n"
      "param b: float32[5]\nparam h: float32[3,5]\n";
  CHECK(flops(names + "y: float32[2,3,5] = tflite::UNIDIRECTIONAL_SEQUENCE_RNN(x, i, r, b, h)") ==
        6 * (2 * 45 + 2 * 5));
  CHECK(
      flops(names +
            "y: float32[2,3,5] = tflite::BIDIRECTIONAL_SEQUENCE_RNN(x, i, r, b, h, i, r, b, h)") ==
      6 * (2 * 90 + 2 * 10));
  const std::string svdf = names + "y: float32[2,3,5] = tflite::SVDF(x, i, r, b, h)";
  CHECK(flops(svdf) == 2 * 6 * 45);
  CHECK(flops(svdf + " {fused_activation_function=\"RELU\"}") == 2 * 6 * 45 + 30);
}

TEST_CASE("A pool reads its window for each output") {
  CHECK(flops_of_op("MAX_POOL_2D", " {filter_height=3, filter_width=7}") == 20 * 21);
  CHECK(flops_of_op("AVERAGE_POOL_2D",
                    " {filter_height=3, filter_width=7, "
                    "fused_activation_function=\"RELU\"}") == 20 * 21 + 20);
  CHECK(flops_of_op("L2_POOL_2D", " {filter_height=3}") == -1);
  CHECK(flops_of_op("L2_POOL_2D", " {filter_width=3}") == -1);
}

TEST_CASE("TensorFlow Lite's ops by element have a fixed cost, and their activation") {
  const std::string relu = " {fused_activation_function=\"RELU\"}";
  CHECK(flops_of_op("ADD") == 20);
  CHECK(flops_of_op("ADD", relu) == 40);
  CHECK(flops_of_op("SQUARED_DIFFERENCE") == 40);
  CHECK(flops_of_op("SOFTMAX") == 100);
  CHECK(flops_of_op("L2_NORMALIZATION", relu) == 100);
  CHECK(flops_of_op("QUANTIZE") == 40);
  CHECK(flops_of_op("RESIZE_BILINEAR") == 80);
  CHECK(flops_of_op("MEAN") == 6);
  CHECK(flops_of_op("RESHAPE") == 0);
  CHECK(flops_of_op("CONCATENATION") == 0);
  CHECK(flops_of_op("CONCATENATION", relu) == 20);
  CHECK(flops_of_op("NO_SUCH_OP") == -1);
  CHECK(flops("input x: float32[4,5]\ny: float32[4,5] = tflite::ADD_N(x, x, x)") == 2 * 20);
}

TEST_CASE("A composite op computes what its body does, if all of that is known") {
  const std::string head =
      "input x: float32[2,3]\ny: float32[2,3] = tflite::STABLEHLO_COMPOSITE(x)\n";
  CHECK(flops(head + "| a: float32[2,3] = tflite::ADD(x, x)\n"
                     "| b: float32[2,3] = tflite::SOFTMAX(a)\n") == 6 + 30);
  CHECK(flops(head + "| a: float32[2,3] = tflite::ADD(x, x)\n"
                     "| b: float32[2,3] = tflite::NO_SUCH_OP(a)\n") == -1);
}

}  // namespace
}  // namespace cleave
