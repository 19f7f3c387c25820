#include "core/cost/cost.h"

#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"

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

TEST_CASE("a convolution counts 2 for each weight applied to each output") {
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

TEST_CASE("a grouped convolution counts only its group's channels") {
  CHECK(flops(R"(
    input x: float32[1,8,8,8]
    param w: float32[8,1,3,3]
    y: float32[1,8,8,8] = torch.conv2d(x, w)
  )") == 2.0 * 8 * 64 * 9);
}

TEST_CASE("a transposed convolution counts 2 for each weight applied to each input") {
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

TEST_CASE("attention counts two products and a softmax") {
  const double products = 2.0 * 2 * (3 * 6 * 8) * 10;
  CHECK(flops(R"(
    input q: float32[3,6,8]
    input k: float32[3,10,8]
    y: float32[3,6,8] = torch.nn.functional.scaled_dot_product_attention(q, k, k)
  )") == products + 5 * 3 * 6 * 10);
}

TEST_CASE("attention counts the softmax of each head, and the past keys") {
  // 3 tokens, 2 heads of 4, 7 keys of the past.
  const double products = 2.0 * 2 * (3 * 8) * 10, softmax = 5.0 * 3 * 2 * 10;
  CHECK(flops(R"(
    input q: float32[1,3,8]
    input past: float32[1,2,7,4]
    y: float32[1,3,8], pk: float32[1,2,10,4] = Attention(q, q, q, _, past) {q_num_heads=2}
  )") == products + softmax);
  CHECK(flops(R"(
    input q: float32[1,2,3,4]
    input past: float32[1,2,7,4]
    y: float32[1,2,3,4] = Attention(q, q, q, _, past)
  )") == products + softmax);
  CHECK(flops(R"(
    input q: float32[1,3,8]
    input past: float32[1,2,7,4]
    y: float32[1,3,8] = com.microsoft::MultiHeadAttention(q, q, q, _, _, _, past) {num_heads=2}
  )") == products + softmax);
  CHECK(flops(R"(
    input q: float32[1,3,8]
    input k: float32[1,3,4]
    input past: float32[1,1,7,4]
    y: float32[1,3,8] = com.microsoft::GroupQueryAttention(q, k, k, past) {num_heads=2, kv_num_heads=1}
  )") == products + softmax);
  CHECK(flops(R"(
    input q: float32[1,2,3,4]
    input k: float32[1,2,10,4]
    y: tuple(float32[1,2,3,4], float32[1,2,3]) = torch.ops.aten._scaled_dot_product_flash_attention.default(q, k, k)
  )") == products + softmax);
}

TEST_CASE("attention with packed weights counts its projections") {
  // com.microsoft Attention: 3 tokens of 6, hidden 8: 6 x 24 weights; 2 heads.
  CHECK(flops(R"(
    input x: float32[1,3,6]
    param w: float32[6,24]
    param b: float32[24]
    y: float32[1,3,8] = com.microsoft::Attention(x, w, b) {num_heads=2}
  )") == 2.0 * 3 * 144 + 4.0 * 24 * 3 + 5.0 * 3 * 2 * 3);
  CHECK(flops(R"(
    input x: float32[1,3,8]
    y: tuple(float32[1,3,8], float32[1,3,3]) = torch.nn.modules.activation.MultiheadAttention(x, x, x) {num_heads=2, batch_first=1}
  )") == 2.0 * 24 * 8 * 4 + 4.0 * 24 * 3 + 5.0 * 3 * 2 * 3);
}

TEST_CASE("einsum counts one product for each combination of its indices") {
  CHECK(flops(R"(
    input a: float32[2,3,5]
    input b: float32[2,5,7]
    y: float32[2,3,7] = Einsum(a, b) {equation="bij, bjk -> bik"}
  )") == 2.0 * 2 * 3 * 7 * 5);
  CHECK(flops(R"(
    input a: float32[3,5]
    input b: float32[7,5]
    input c: float32[3]
    y: float32[7] = torch.functional.einsum(_, [a, b, c]) {arg0="ij,kj,i->k"}
  )") == 3.0 * 3 * 5 * 7);
  CHECK(flops(R"(
    input a: float32[3,5]
    y: float32[5] = Einsum(a) {equation="...j->j"}
  )") == -1);
}

TEST_CASE("quantised variants count as the op they replace") {
  CHECK(flops(R"(
    input a: uint8[3,5]
    param s
    param b: uint8[5,7]
    y: uint8[3,7] = QLinearMatMul(a, s, s, b, s, s, s, s)
  )") == 2.0 * 3 * 7 * 5);
  CHECK(flops(R"(
    input a: float32[3,64]
    param b: uint8[16,2,16]
    param s: float32[32]
    y: float32[3,16] = com.microsoft::MatMulNBits(a, b, s) {K=64, N=16, bits=4}
  )") == 2.0 * 3 * 16 * 64);
  CHECK(flops(R"(
    input a: float32[5,3]
    param b: float32[5,7]
    y: float32[3,7] = com.microsoft::FusedMatMul(a, b) {transA=1}
  )") == 2.0 * 3 * 7 * 5);
  CHECK(flops("input x: uint8[4,8]\n y: uint8[4,8] = com.microsoft::QLinearAdd(x, x, x)") == 32.0);
  CHECK(flops("input x: uint8[4,8]\n param s\n y: float32[4,8] = DequantizeLinear(x, s)") == 64.0);
  CHECK(flops("input x: float32[4,8]\n y: int8[4,8] = "
              "torch.ops.quantized_decomposed.quantize_per_tensor.default(x)") == 64.0);
}

TEST_CASE("normalisations count statistics, scaling, and tensors added before") {
  const auto of = [](const std::string& op) {
    return flops("input x: float32[4,8]\n param w: float32[8]\n y: float32[4,8] = " + op +
                 "(x, w)");
  };
  CHECK(of("LayerNormalization") == 5.0 * 32);
  CHECK(of("torch.nn.modules.normalization.GroupNorm") == 5.0 * 32);
  CHECK(of("RMSNormalization") == 4.0 * 32);
  CHECK(of("com.microsoft::SkipLayerNormalization") == 6.0 * 32);
  CHECK(of("com.microsoft::SkipSimplifiedLayerNormalization") == 5.0 * 32);
  CHECK(of("BatchNormalization") == 2.0 * 32);
  CHECK(of("torch.ops.aten.batch_norm.default") == 2.0 * 32);
}

TEST_CASE("resizing counts the window of the interpolation") {
  const auto of = [](const std::string& call) {
    return flops("input x: float32[1,2,4,4]\n y: float32[1,2,8,8] = " + call);
  };
  CHECK(of("Resize(x)") == 0);
  CHECK(of("Resize(x) {mode=\"linear\"}") == 4.0 * 128);
  CHECK(of("Resize(x) {mode=\"cubic\"}") == 16.0 * 128);
  CHECK(of("GridSample(x)") == 4.0 * 128);
  CHECK(of("GridSample(x) {mode=\"nearest\"}") == 0);
}

TEST_CASE("aten convolutions may be transposed; deformable ones have another weight position") {
  CHECK(flops(R"(
    input x: float32[1,4,8,8]
    param w: float32[4,6,2,2]
    y: float32[1,6,16,16] = torch.ops.aten.convolution.default(x, w) {arg6=1}
  )") == 2.0 * 4 * 64 * 24);
  CHECK(flops(R"(
    input x: float32[1,3,8,8]
    param w: float32[8,3,5,5]
    input o
    y: float32[1,8,4,4] = DeformConv(x, w, o)
  )") == 2.0 * 8 * 16 * 75);
}

TEST_CASE("a recurrence counts all weights and its gates at each step") {
  CHECK(flops(R"(
    input x: float32[5,2,8]
    param w: float32[1,16,8]
    param r: float32[1,16,4]
    y: float32[5,1,2,4] = LSTM(x, w, r)
  )") == 10.0 * (2 * (16 * 8 + 16 * 4) + 4 * 9));
  CHECK(flops(R"(
    input x: float32[5,2,8]
    param w: float32[2,12,8]
    param r: float32[2,12,4]
    param b: float32[2,24]
    y: float32[5,2,2,4] = GRU(x, w, r, b)
  )") == 10.0 * (2 * 2 * (12 * 8 + 12 * 4) + 48 + 2 * 4 * 8));
  CHECK(flops(R"(
    input x: float32[5,2,8]
    param w: float32[16,8]
    param r: float32[16,4]
    param b: float32[16]
    param c: float32[16]
    y: tuple(float32[5,2,4], float32[1,2,4]) = torch.nn.modules.rnn.LSTM(x) !w !r !b !c
  )") == 10.0 * (2 * (16 * 8 + 16 * 4) + 32 + 4 * 9));
  CHECK(flops(R"(
    input x: float32[5,2,8]
    param w: float32[4,8]
    param r: float32[4,4]
    y: float32[5,2,4] = torch.nn.modules.rnn.RNN(x) !w !r
  )") == 10.0 * (2 * (4 * 8 + 4 * 4) + 4));
}

TEST_CASE("an op that reads or moves no data has no bytes") {
  const auto bytes = [](std::string_view text) {
    const Graph graph = graph_from_text(text);
    CHECK(node_costs(graph)[NodeId{0}].bytes == node_cost(graph, NodeId{0}).bytes);
    return node_cost(graph, NodeId{0}).bytes;
  };
  CHECK(bytes("input x: float32[1,?,8]\n y: int64[3] = Shape(x)") == 0.0);
  CHECK(bytes("input x: float32[1,?,8]\n y: int64[] = Size(x)") == 0.0);
  CHECK(bytes("input x: float32[4,8]\n y: float32[32] = Reshape(x)") == 0.0);
  CHECK(bytes("input x: float32[4,8]\n y: float32[1,4,8] = Unsqueeze(x)") == 0.0);
  CHECK(bytes("input x: float32[4,8]\n y: float32[4,8] = Identity(x)") == 0.0);
  CHECK(bytes("input x: float32[4,8]\n y: float32[32] = torch.flatten(x)") == 0.0);
  CHECK(bytes("input x: float32[4,8]\n y: float32[32] = aten.view.default(x)") == 0.0);
  CHECK(bytes("input x: float32[4,8]\n y: float32[8,4] = Transpose(x)") == 256.0);
  CHECK(bytes("input x: float32[4,8]\n y: float32[2,8] = Slice(x)") == 192.0);
  CHECK(bytes("input x: float32[4,8]\n y: float32[4,8] = other.domain.Reshape(x)") == 256.0);
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

TEST_CASE("max and sum reduce one tensor and are elementwise on several") {
  CHECK(flops("input x: float32[4,8]\n y: float32[4] = torch.sum(x)") == 32.0);
  CHECK(flops("input x: float32[4]\n y: float32[4] = Max(x, x, x)") == 8.0);
  // An operand that is no tensor is not combined, and its size is not asked for.
  CHECK(flops("input x: float32[4]\n input n: scalar\n y: float32[4] = Max(x, x, n)") == 4.0);
  CHECK(flops("input x: float32[4]\n input n: scalar\n y: float32[4] = Max(x, n)") == 4.0);
  CHECK(flops("input x: float32[4]\n input n: float32[?]\n y: float32[4] = Max(x, n)") == -1);
}

TEST_CASE("a selection compares each element once") {
  CHECK(flops("input x: float32[4,8]\n y: float32[4,2] = TopK(x)") == 32.0);
  CHECK(flops("input x: bool[4,8]\n y: int64[2,?] = NonZero(x)") == 32.0);
}

TEST_CASE("moving data, and work on scalars, is free") {
  for (const char* op : {"Reshape", "torch.cat", "view", "_operator.getitem", "Cast", "Gather",
                         "torch.nn.modules.dropout.Dropout", "contiguous"}) {
    INFO(op);
    CHECK(flops("input x\n y = " + std::string(op) + "(x)") == 0);
  }
  CHECK(flops("input n: scalar\n y: scalar = _operator.floordiv(n, n)") == 0);
}

TEST_CASE("unknown ops and unknown shapes have no FLOPs") {
  CHECK(flops("input x\n y = mylib.conv2d(x)") == -1);
  CHECK(flops("input x\n y = some::Relu(x)") == -1);
  CHECK(flops("input x\n y = Unique(x)") == -1);
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

TEST_CASE("only the rows looked up in a table count") {
  const auto bytes = [](std::string_view text) {
    const Graph graph = graph_from_text(text);
    CHECK(node_costs(graph)[NodeId{0}].bytes == node_cost(graph, NodeId{0}).bytes);
    return node_cost(graph, NodeId{0}).bytes;
  };
  CHECK(bytes(R"(
    input i: int64[5]
    param table: float32[1000,8]
    y: float32[5,8] = Gather(table, i))") == 5 * 8.0 + 2 * 5 * 8 * 4);
  CHECK(bytes(R"(
    input i: int64[5]
    param table: float32[1000,8]
    y: float32[5,8] = torch.nn.modules.sparse.Embedding(i) !table)") == 5 * 8.0 + 2 * 5 * 8 * 4);
  CHECK(bytes(R"(
    input i: int64[2,5]
    param table: float32[1000,8]
    y: float32[2,8] = torch.nn.modules.sparse.EmbeddingBag(i) !table)") ==
        10 * 8.0 + 10 * 8 * 4 + 2 * 8 * 4);
  CHECK(bytes(R"(
    input x: float32[2,3]
    param i: int64[40]
    y: float32[40,3] = Gather(x, i))") == 2 * 3 * 4.0 + 40 * 8 + 40 * 3 * 4);
}

}  // namespace
}  // namespace cleave
