#include "core/cost.h"

#include "tests/catch2.h"
#include "tests/core/graph_text.h"

namespace cleave {
namespace {

// FLOPs of the first node; below 0 when they are not known.
double flops(std::string_view text) {
  const Graph graph = graph_from_text(text);
  return node_cost(graph, NodeId{0}).flops.value_or(-1);
}

TEST_CASE("a value has bytes when it is a tensor of known dtype and dims") {
  const Graph graph = graph_from_text(R"(
    input a: float32[2,3]
    input b: int4[3]
    input c: float32[2,n]
    input d: float32[?]
    input e: float32
    input f: string[2]
    input g: scalar
    input h: tuple(float32[2])
    input i: bool[0,?]
    input j: float64[4611686018427387904,4]
  )");
  const auto bytes = [&](std::string_view name) {
    return value_bytes(graph, value_named(graph, name));
  };
  CHECK(bytes("a") == 24u);
  CHECK(bytes("b") == 2u);
  CHECK(bytes("i") == 0u);
  for (const char* name : {"c", "d", "e", "f", "g", "h", "j"}) CHECK_FALSE(bytes(name));
}

TEST_CASE("a convolution is two for each weight that meets each output") {
  // 8 outputs of 4 x 4, each the sum of 3 x 5 x 5 products.
  CHECK(flops(R"(
    input x: float32[1,3,8,8]
    param w: float32[8,3,5,5]
    param b: float32[8]
    y: float32[1,8,4,4] = Conv(x, w, b)
  )") == 2.0 * 8 * 16 * 75);
  CHECK(flops(R"(
    input x: float32[1,3,8,8]
    param w: float32[8,3,5,5]
    param b: float32[8]
    y: float32[1,8,4,4] = torch.nn.modules.conv.Conv2d(x) !b !w
  )") == 2.0 * 8 * 16 * 75);
  CHECK(flops(R"(
    input x: int8[1,3,8,8]
    param s
    param w: int8[8,3,5,5]
    y: int8[1,8,4,4] = QLinearConv(x, s, s, w, s, s, s, s)
  )") == 2.0 * 8 * 16 * 75);
}

TEST_CASE("a grouped convolution reads its share of the channels") {
  CHECK(flops(R"(
    input x: float32[1,8,8,8]
    param w: float32[8,1,3,3]
    y: float32[1,8,8,8] = torch.conv2d(x, w)
  )") == 2.0 * 8 * 64 * 9);
}

TEST_CASE("a transposed convolution is two for each weight that meets each input") {
  CHECK(flops(R"(
    input x: float32[1,4,8,8]
    param w: float32[4,6,2,2]
    y: float32[1,6,16,16] = ConvTranspose(x, w)
  )") == 2.0 * 4 * 64 * 24);
}

TEST_CASE("products sum over the last dim of the left factor") {
  CHECK(flops(R"(
    input a: float32[2,3,5]
    input b: float32[2,5,7]
    y: float32[2,3,7] = MatMul(a, b)
  )") == 2.0 * 2 * 3 * 7 * 5);
  CHECK(flops(R"(
    input a: float32[2,3,5]
    y: float32[2,3,7] = torch.nn.modules.linear.Linear(a)
  )") == 2.0 * 2 * 3 * 7 * 5);
  CHECK(flops(R"(
    input a: float32[3,5]
    input b: float32[5,7]
    y: float32[3,7] = torch.ops.aten.mm.default(a, b)
  )") == 2.0 * 3 * 7 * 5);
  CHECK(flops(R"(
    input c: float32[7]
    input a: float32[3,5]
    input b: float32[5,7]
    y: float32[3,7] = torch.addmm(c, a, b)
  )") == 2.0 * 3 * 7 * 5);
}

TEST_CASE("Gemm sums over the first dim of A where A is transposed") {
  CHECK(flops(R"(
    input a: float32[5,3]
    input b: float32[5,7]
    y: float32[3,7] = Gemm(a, b) {transA=1}
  )") == 2.0 * 3 * 7 * 5);
}

TEST_CASE("attention is two products and a softmax") {
  const double products = 2.0 * 2 * (3 * 6 * 8) * 10;
  CHECK(flops(R"(
    input q: float32[3,6,8]
    input k: float32[3,10,8]
    y: float32[3,6,8] = torch.nn.functional.scaled_dot_product_attention(q, k, k)
  )") == products + 5 * 3 * 6 * 10);
}

TEST_CASE("a recurrence meets all its weights at each step") {
  CHECK(flops(R"(
    input x: float32[5,2,8]
    param w: float32[1,16,8]
    param r: float32[1,16,4]
    y: float32[5,1,2,4] = LSTM(x, w, r)
  )") == 2.0 * 10 * (16 * 8 + 16 * 4));
  CHECK(flops(R"(
    input x: float32[5,2,8]
    param w: float32[16,8]
    param r: float32[16,4]
    param b: float32[16]
    y: tuple(float32[5,2,4], float32[1,2,4]) = torch.nn.modules.rnn.LSTM(x) !w !r !b
  )") == 2.0 * 10 * (16 * 8 + 16 * 4));
}

TEST_CASE("pooling counts the elements under the kernel, reductions the input, others the output") {
  CHECK(
      flops("input x: float32[1,2,8,8]\n y: float32[1,2,4,4] = MaxPool(x) {kernel_shape=[3,2]}") ==
      32.0 * 6);
  CHECK(flops("input x: float32[1,2,8,8]\n"
              "y: float32[1,2,4,4] = torch.nn.modules.pooling.MaxPool2d(x) {kernel_size=3}") ==
        32.0 * 9);
  CHECK(flops("input x: float32[1,2,8,8]\n y: float32[1,2,1,1] = GlobalAveragePool(x)") == 128.0);
  CHECK(flops("input x: float32[4,8]\n y: float32[4] = torch.mean(x)") == 32.0);
  CHECK(flops("input x: float32[4,8]\n y: float32[4,8] = Softmax(x)") == 160.0);
  CHECK(flops("input x: float32[4,8]\n y: float32[4,8] = torch.nn.functional.relu_(x)") == 32.0);
  CHECK(flops("input x: float32[4,8]\n y: float32[4,8] = _operator.add(x, x)") == 32.0);
}

TEST_CASE("max and sum reduce one tensor and combine many") {
  CHECK(flops("input x: float32[4,8]\n y: float32[4] = torch.sum(x)") == 32.0);
  CHECK(flops("input x: float32[4]\n y: float32[4] = Max(x, x, x)") == 8.0);
}

TEST_CASE("moving data, and work on scalars, is free") {
  for (const char* op : {"Reshape", "torch.cat", "view", "_operator.getitem", "Cast", "Gather",
                         "torch.nn.modules.dropout.Dropout", "contiguous"}) {
    INFO(op);
    CHECK(flops("input x\n y = " + std::string(op) + "(x)") == 0);
  }
  CHECK(flops("input n: scalar\n y: scalar = _operator.floordiv(n, n)") == 0);
}

TEST_CASE("of unknown ops and of unknown shapes nothing is said") {
  CHECK(flops("input x\n y = mylib.conv2d(x)") == -1);
  CHECK(flops("input x\n y = some::Relu(x)") == -1);
  CHECK(flops("input x\n y = TopK(x)") == -1);
  CHECK(flops("input x: float32[n]\n y: float32[n] = Relu(x)") == -1);
  CHECK(flops("input x: float32\n y: float32 = Conv(x)") == -1);
  CHECK(flops("input x\n y = Conv()") == -1);
  CHECK(flops("input x: scalar\n y: unknown = Relu(x)") == -1);
}

TEST_CASE("bytes are the tensors read, owned and made, each once") {
  const Graph graph = graph_from_text(R"(
    input x: float32[2]
    param w: float32[3]
    y: float32[4] = f(x, x, w) !w
    z: float32[n] = f(x)
  )");
  CHECK(node_cost(graph, NodeId{0}).bytes == 8.0 + 12 + 16);
  CHECK_FALSE(node_cost(graph, NodeId{1}).bytes);
}

}  // namespace
}  // namespace cleave
