#include <string>

#include "core/cost/cost.h"
#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"

namespace cleave {

// ---- cost test ----

namespace {

// FLOPs of the first node; below 0 when they are not known.
double flops(std::string_view text) {
  const Graph graph = graph_from_text(text);
  return node_costs(graph)[NodeId{0}].flops.value_or(-1);
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
  // torch.export: the weights are a list, behind the state. A state of two dims is no weight.
  CHECK(flops(R"(
    input x: float32[5,8]
    param s: float32[1,4]
    param w: float32[16,8]
    param r: float32[16,4]
    param b: float32[16]
    param c: float32[16]
    y: float32[5,4] = torch.ops.aten.lstm.input(x, [s, s], [w, r, b, c])
  )") == 5.0 * (2 * (16 * 8 + 16 * 4) + 32 + 4 * 9));
  CHECK(flops(R"(
    input x: float32[5,8]
    param s: float32[1,4]
    param w: float32[12,8]
    param r: float32[12,4]
    y: float32[5,4] = torch.ops.aten.gru.input(x, s, [w, r])
  )") == 5.0 * (2 * (12 * 8 + 12 * 4) + 4 * 8));
}

TEST_CASE("an op that reads or moves no data has no bytes") {
  const auto bytes = [](std::string_view text) {
    const Graph graph = graph_from_text(text);
    return node_costs(graph)[NodeId{0}].bytes;
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
  CHECK(node_costs(graph)[NodeId{0}].bytes == 8.0 + 12 + 16);
  CHECK_FALSE(node_costs(graph)[NodeId{1}].bytes);
}

TEST_CASE("only the rows looked up in a table count") {
  const auto bytes = [](std::string_view text) {
    const Graph graph = graph_from_text(text);
    return node_costs(graph)[NodeId{0}].bytes;
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

TEST_CASE("of a table no more counts than it has, and as much as is looked up of its type") {
  const auto bytes = [](std::string_view text) {
    const Graph graph = graph_from_text(text);
    return node_costs(graph)[NodeId{0}].bytes;
  };
  const auto bag = [&](const std::string& indices, const std::string& table,
                       const std::string& out) {
    return bytes("input i: int64[" + indices + "]\nparam t: float16[" + table + "]\ny: float16[" +
                 out + "] = torch.nn.modules.sparse.EmbeddingBag(i) !t");
  };
  // 12 rows of 8 elements of 2 bytes are looked up, and 3 are made of them.
  CHECK(bag("3,4", "100,8", "3,8") == 12 * 8.0 + 12 * 16 + 3 * 16);
  CHECK(bag("3,4", "5,8", "3,8") == 12 * 8.0 + 5 * 16 + 3 * 16);
  CHECK(bag("0,4", "100,8", "0,8") == 0);  // nothing is looked up
  CHECK_FALSE(bag("n,4", "100,8", "3,8"));
  CHECK_FALSE(bag("3,4", "100,8", "n,8"));
  // The larger input is the table, wherever it is; a result that is larger is none.
  CHECK(bytes(R"(
    param i: int64[2]
    param t: float32[100,8]
    y: float32[2,8] = com.microsoft::GatherBlockQuantized(i, t))") == 2 * 8.0 + 2 * 64);
  CHECK(bytes(R"(
    input x: float32[4,8]
    input i: int64[1,8]
    y: float32[1,8], z: float32[50,8] = GatherElements(x, i))") == 64.0 + 32 + 32 + 1600);
  CHECK(bytes(R"(
    input i: int64[2]
    param t: float32[100,8]
    y: float32[2,8] = other::Gather(t, i))") == 16.0 + 3200 + 64);
}

TEST_CASE("attention of torch's module has its projections; the length is before the batch") {
  const auto module = [](const std::string& shape, const std::string& attributes) {
    return flops("input q: float32[" + shape + "]\ny: tuple(float32[" + shape +
                 "]) = torch.nn.modules.activation.MultiheadAttention(q, q, q)" + attributes);
  };
  // 7 tokens of 2 samples, 8 wide: four projections of 8 x 8.
  const double projections = 2.0 * 4 * 7 * 2 * 64, products = 4.0 * 7 * 2 * 8 * 7;
  CHECK(module("7,2,8", " {num_heads=4}") == projections + products + 5.0 * 7 * 2 * 4 * 7);
  CHECK(module("2,7,8", " {num_heads=4, batch_first=1}") ==
        projections + products + 5.0 * 7 * 2 * 4 * 7);
  CHECK(module("7,2,8", "") == projections + products + 5.0 * 7 * 2 * 7);
  CHECK(module("7,8", " {num_heads=4}") == 2.0 * 4 * 7 * 64 + 4.0 * 7 * 8 * 7 + 5.0 * 7 * 4 * 7);
  // Keys of another length, and values.
  CHECK(flops(R"(
    input q: float32[7,2,8]
    input k: float32[5,2,8]
    y: tuple(float32[7,2,8]) = torch.nn.modules.activation.MultiheadAttention(q, k, k) {num_heads=4}
  )") == 2.0 * 64 * (7 * 2 * 2 + 5 * 2 * 2) + 4.0 * 7 * 2 * 8 * 5 + 5.0 * 7 * 2 * 4 * 5);
}

TEST_CASE(
    "quantised attention and recurrences have their past and weights at places of their own") {
  // 3 tokens of 6, 2 heads of 4, 5 keys of the past.
  CHECK(flops(R"(
    input x: uint8[1,3,6]
    param w: uint8[6,24]
    param b: float32[24]
    param s
    input past: float32[2,1,2,5,4]
    y: float32[1,3,8] = com.microsoft::QAttention(x, w, b, s, s, _, s, s, past) {num_heads=2}
  )") == 2.0 * 3 * 144 + 4.0 * 24 * 8 + 5.0 * 3 * 2 * 8);
  // com.microsoft's weights are transposed.
  CHECK(flops(R"(
    input x: float32[5,2,8]
    param w: int8[1,8,16]
    param r: int8[1,4,16]
    param b: float32[1,32]
    y: float32[5,1,2,4] = com.microsoft::DynamicQuantizeLSTM(x, w, r, b)
  )") == 10.0 * (2 * (8 * 16 + 4 * 16) + 32 + 4 * 9));
  CHECK(flops(R"(
    input x: float32[5,2,8]
    param w: float32[1,16,8]
    param r: float32[1,16,n]
    y: float32[5,1,2,4] = LSTM(x, w, r)
  )") == -1);
  CHECK(flops("input x: float32[5,2,8]\ny: float32[5,2,4] = torch.nn.modules.rnn.LSTM(x)") == -1);
}

TEST_CASE(
    "indices of an equation have the largest of their sizes, of operands that fit their terms") {
  const auto einsum = [](const std::string& operands, const std::string& equation) {
    return flops(
        "input a: float32[3,5]\ninput b: float32[1,7]\ninput c: float32[3,n]\n"
        "y: float32[5,7] = Einsum(" +
        operands + ") {equation=\"" + equation + "\"}");
  };
  CHECK(einsum("a, b", "ij,ik->jk") == 2.0 * 3 * 5 * 7);
  CHECK(einsum("b, a", "ik,ij->jk") == 2.0 * 3 * 5 * 7);
  CHECK(einsum("a, b", "ij,ik") == 2.0 * 3 * 5 * 7);
  CHECK(einsum("a, b, a", "ij , ik , ij -> jk") == 3.0 * 3 * 5 * 7);
  CHECK(einsum("a, b", "ijk,ik->jk") == -1);
  CHECK(einsum("a, b", "ij->jk") == -1);
  CHECK(einsum("a, c", "ij,ik->jk") == -1);
  CHECK(einsum("a, b", "") == -1);
}

}  // namespace

// ---- op flops test ----

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

// ---- tflite flops test ----
//
// FLOPs of TensorFlow Lite's ops, from the layouts of their weights.

namespace {

// The FLOPs of the node "y"; below 0 when they are not known.
double flops_of_y(const std::string& text) {
  const Graph graph = graph_from_text(text);
  return op_flops(graph, node_named(graph, "y")).value_or(-1);
}

// The FLOPs of a node that reads a tensor of 2 x 3 and makes one of 4 x 5.
double flops_of_op(const std::string& op, const std::string& attributes = "") {
  return flops_of_y("input x: float32[2,3]\ny: float32[4,5] = tflite::" + op + "(x)" + attributes);
}

TEST_CASE("TensorFlow Lite's convolutions multiply each output by the weights of its channel") {
  const std::string conv =
      "input x: float32[1,8,8,7]\nparam w: float32[6,3,2,7]\n"
      "y: float32[1,4,5,6] = tflite::CONV_2D(x, w)";
  CHECK(flops_of_y(conv) == 2 * 120 * 42);
  CHECK(flops_of_y(conv + " {fused_activation_function=\"NONE\"}") == 2 * 120 * 42);
  CHECK(flops_of_y(conv + " {fused_activation_function=\"RELU\"}") == 2 * 120 * 42 + 120);
  const std::string conv3d =
      "input x: float32[1,8,8,8,5]\nparam w: float32[2,3,4,5,6]\n"
      "y: float32[1,2,2,2,6] = tflite::CONV_3D(x, w)";
  CHECK(flops_of_y(conv3d) == 2 * 48 * 120);
  CHECK(flops_of_y(conv3d + " {fused_activation_function=\"RELU\"}") == 2 * 48 * 120 + 48);
}

TEST_CASE("A depthwise convolution multiplies each output by the weights of a kernel") {
  const auto depthwise = [](const std::string& weight, const std::string& attributes = "") {
    return flops_of_y("input x: float32[1,8,8,8]\nparam w: " + weight +
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
  CHECK(flops_of_y(text) == 2 * 112 * 36);
  CHECK(flops_of_y(text + " {fused_activation_function=\"RELU\"}") == 2 * 112 * 36 + 384);
}

TEST_CASE("Dense layers and products of matrices sum over the dims that both factors have") {
  const std::string dense =
      "input x: float32[3,20]\nparam w: float32[10,20]\n"
      "y: float32[3,10] = tflite::FULLY_CONNECTED(x, w)";
  CHECK(flops_of_y(dense) == 2 * 30 * 20);
  CHECK(flops_of_y(dense + " {fused_activation_function=\"RELU\"}") == 2 * 30 * 20 + 30);
  const auto product = [](const std::string& left, const std::string& attributes) {
    return flops_of_y("input a: " + left + "\ninput b: float32[2,5,7]\n" +
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
  CHECK(flops_of_y(
            names +
            "y: float32[2,3,3] = tflite::UNIDIRECTIONAL_SEQUENCE_LSTM(x, i, i, i, i, r, r, r, r, "
            "c, c, c, b, b, b, b, p, q)") ==
        6 * (2 * (4 * 20 + 4 * 25 + 15) + 4 * 5 + 3) + 9 * 6 * 5);
  CHECK(flops_of_y(names + "y: float32[2,3,3] = tflite::LSTM(x, _, i, i, i, _, r, r, r, "
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
  CHECK(flops_of_y(names + "y: float32[2,3,5] = tflite::BIDIRECTIONAL_SEQUENCE_LSTM(" + operands +
                   ")") == 6 * (2 * weights + biases) + 2 * 9 * 6 * 5);
}

TEST_CASE("Recurrent layers use each weight once a step, and a bias with its activation") {
  const std::string names =
      "input x: float32[2,3,4]\nparam i: float32[5,4]\nparam r: float32[5,5]\n"
      "param b: float32[5]\nparam h: float32[3,5]\n";
  CHECK(flops_of_y(names +
                   "y: float32[2,3,5] = tflite::UNIDIRECTIONAL_SEQUENCE_RNN(x, i, r, b, h)") ==
        6 * (2 * 45 + 2 * 5));
  CHECK(flops_of_y(
            names +
            "y: float32[2,3,5] = tflite::BIDIRECTIONAL_SEQUENCE_RNN(x, i, r, b, h, i, r, b, h)") ==
        6 * (2 * 90 + 2 * 10));
  const std::string svdf = names + "y: float32[2,3,5] = tflite::SVDF(x, i, r, b, h)";
  CHECK(flops_of_y(svdf) == 2 * 6 * 45);
  CHECK(flops_of_y(svdf + " {fused_activation_function=\"RELU\"}") == 2 * 6 * 45 + 30);
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
  CHECK(flops_of_y("input x: float32[4,5]\ny: float32[4,5] = tflite::ADD_N(x, x, x)") == 2 * 20);
}

TEST_CASE("A composite op computes what its body does, if all of that is known") {
  const std::string head =
      "input x: float32[2,3]\ny: float32[2,3] = tflite::STABLEHLO_COMPOSITE(x)\n";
  CHECK(flops_of_y(head + "| a: float32[2,3] = tflite::ADD(x, x)\n"
                          "| b: float32[2,3] = tflite::SOFTMAX(a)\n") == 6 + 30);
  CHECK(flops_of_y(head + "| a: float32[2,3] = tflite::ADD(x, x)\n"
                          "| b: float32[2,3] = tflite::NO_SUCH_OP(a)\n") == -1);
}

}  // namespace

}  // namespace cleave
