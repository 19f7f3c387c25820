#include <numeric>

#include "formats/models/models.h"
#include "formats/onnx/infer/infer.h"
#include "formats/onnx/read/reader.h"
#include "formats/report/words/words.h"
#include "tests/catch2.h"
#include "tests/formats/onnx/read/onnx_text.h"
#include "tests/formats/onnx/write/split_text.h"

namespace cleave {

// ---- infer shapes test ----

namespace {

// "t: float32[2, 3]\n" for each value that a node makes.
std::string types(const SourceFile& source, const ShapeBindings& bindings = {}) {
  const auto loaded = read_onnx(source, bindings);
  if (!loaded) return format_diagnostic(loaded.error().front());
  const Graph& graph = loaded->graph;
  std::string text;
  for (const NodeId node : graph.nodes()) {
    for (const ValueId value : graph.outputs(node)) {
      text += std::string(graph.value(value).name) + ": " + type_text(graph, value) + "\n";
    }
  }
  return text;
}

std::string types(const std::string& graph, const ShapeBindings& bindings = {}) {
  return types(onnx_file(graph), bindings);
}

ShapeBindings dim(const std::string& name, std::int64_t size) {
  ShapeBindings bindings;
  bindings.dims = {{name, size}};
  return bindings;
}

ShapeBindings input(const std::string& name, const std::vector<std::int64_t>& shape) {
  ShapeBindings bindings;
  bindings.inputs = {{name, shape}};
  return bindings;
}

ShapeBindings from(ShapeInference inference) {
  ShapeBindings bindings;
  bindings.inference = inference;
  return bindings;
}

void with_elsewhere(onnx::ModelProto& model) {
  auto* import = model.add_opset_import();
  import->set_domain("elsewhere");
  import->set_version(1);
}

// For a model at that opset whose one node is the operator.
std::string type_at(int opset, const std::string& graph) {
  const std::string head =
      "<ir_version: 8, opset_import: [\"\" : " + std::to_string(opset) + "]>\n";
  return types(SourceFile::from_text("m.onnx", onnx_bytes(head + graph)));
}

TEST_CASE("Types are inferred from the operators, one node at a time") {
  CHECK(types(R"(
g (float[N, 3, 8, 8] x) => (float[N, 4, 6, 6] y) <float[4, 3, 3, 3] w = {0}> {
  t = Conv (x, w)
  y = Relu (t)
})") == "t: float32[N, 4, 6, 6]\ny: float32[N, 4, 6, 6]\n");
}

TEST_CASE("Nodes of one kind with inputs of one type share types only where no elements count") {
  CHECK(types(R"(
g (float[6, N] x) => (float[2, 3, N] y) <int64[3] s = {2, 3, -1}, int64[3] t = {3, 2, -1}, float[2, 2] w> {
  a = Relu (x)
  b = Relu (a)
  c = Reshape (b, s)
  d = Reshape (b, t)
  e = Transpose <perm = [0, 1]> (b)
  f = Transpose <perm = [1, 0]> (b)
  y = Identity (c)
})") == R"(a: float32[6, N]
b: float32[6, N]
c: float32[2, 3, N]
d: float32[3, 2, N]
e: float32[6, N]
f: float32[N, 6]
y: float32[2, 3, N]
)");
}

TEST_CASE("A node whose type cannot be inferred does not affect others") {
  CHECK(types(onnx_file(R"(
g (float[2, 3] x) => (float[2, 3] y) {
  u = elsewhere.Unknown (x)
  t = Neg (x)
  v = MatMul (t, t)
  y = Abs (t)
})",
                        with_elsewhere)) ==
        "u: tensor\nt: float32[2, 3]\nv: float32[...]\ny: float32[2, 3]\n");
}

TEST_CASE("A Range from 0 by 1 has its limit for a size, from elsewhere none that is known") {
  const auto range = [](const std::string& start, const std::string& step) {
    return types("g (float[N, 8] x) => (int64[a] y) <int64 start = {" + start +
                 "}, int64 step = {" + step + R"(}, int64 zero = {0}> {
  s = Shape (x)
  n = Gather (s, zero)
  r = Range (start, n, step)
  y = Neg (r)
})");
  };
  CHECK_THAT(range("0", "1"), Catch::Matchers::Contains("r: int64[N]\n"));
  CHECK_THAT(range("2", "1"), Catch::Matchers::Contains("r: int64[?]\n"));
  CHECK_THAT(range("0", "2"), Catch::Matchers::Contains("r: int64[?]\n"));
}

TEST_CASE("A computed shape is inferred") {
  CHECK_THAT(types(R"(
g (float[N, T, 8] x) => (float[a, b, c, d] y) <int64[1] zero = {0}, int64[2] tail = {4, 2}> {
  s = Shape (x)
  n = Gather (s, zero)
  minus = Constant <value = int64[1] {-1}> ()
  t = Concat <axis = 0> (n, minus, tail)
  u = Reshape (x, t)
  y = Neg (u)
})"),
             Catch::Matchers::Contains("u: float32[N, T, 4, 2]\n"));
}

TEST_CASE("The rank is known if only the length of a shape is known") {
  CHECK(types(R"(
g (float[N, 8] x, int64[3] shape) => (float[a, b, c] y) { t = Reshape (x, shape)  y = Abs (t) })")
            .find("t: float32[?, ?, ?]\n") != std::string::npos);
}

TEST_CASE("Dims that an exporter calls ? are unknown, not one symbol") {
  const auto edit = [](onnx::ModelProto& model) {
    auto* const type = model.mutable_graph()->mutable_input(0)->mutable_type();
    for (auto& dim : *type->mutable_tensor_type()->mutable_shape()->mutable_dim()) {
      dim.set_dim_param("?");
    }
  };
  const SourceFile source =
      onnx_file("g (float[A, B] x) => (float[C, D] y) { y = Transpose (x) }", edit);
  CHECK(types(source, input("x", {2, 8})) == "y: float32[8, 2]\n");
  CHECK(types(source) == "y: float32[C, D]\n");
}

TEST_CASE("Symbols are bound before anything is computed from them") {
  const char* const graph = "g (float[N, 3] x) => (float[M, 3] y) { y = Concat <axis = 0> (x, x) }";
  CHECK(types(graph, dim("N", 4)) == "y: float32[8, 3]\n");
}

TEST_CASE("A binding of an unknown dim or input is refused") {
  const char* const graph = "g (float[N, 3] x) => (float[N, 3] y) { y = Relu (x) }";
  CHECK_THAT(types(graph, dim("M", 4)), Catch::Matchers::Contains("\"M\""));
  CHECK_THAT(types(graph, input("z", {1})), Catch::Matchers::Contains("\"z\""));
  CHECK_THAT(types(graph, input("x", {4, 5})), Catch::Matchers::Contains("\"x\""));
}

// The type of each node's output, or the faults, each with its notes.
std::string with_sizes(const std::vector<std::pair<std::string, std::int64_t>>& dims,
                       const std::vector<std::pair<std::string, std::vector<std::int64_t>>>& inputs,
                       const std::string& graph =
                           "g (float[N, 3] x, float[M, N] z, float[] w) => "
                           "(float[] y) { t = NonZero (z) u = Add (x, x) "
                           "v = Neg (w) y = Abs (v) }",
                       const ModelEdit& edit = nullptr) {
  ShapeBindings bindings;
  bindings.dims = {dims.begin(), dims.end()};
  bindings.inputs = {inputs.begin(), inputs.end()};
  const SourceFile source = onnx_file(graph, edit);
  const auto loaded = read_onnx(source, bindings);
  if (loaded) return types(source, bindings);
  std::string text;
  for (const Diagnostic& fault : loaded.error()) {
    text += fault.message;
    for (const std::string& note : fault.notes) text += "; " + note;
    text += "\n";
  }
  return text;
}

TEST_CASE("Sizes of dims and inputs are taken where they agree, and else refused with both") {
  CHECK(with_sizes({{"N", 0}}, {}) ==
        "t: int64[2, ?]\nu: float32[0, 3]\nv: float32[...]\ny: float32[...]\n");
  CHECK(with_sizes({{"N", 4}, {"t:1", 5}, {"t:2", 6}}, {{"x", {4, -1}}, {"w", {2, -1}}}) ==
        "t: int64[2, 5]\nu: float32[4, 3]\nv: float32[2, ?]\ny: float32[2, ?]\n");
  CHECK(with_sizes({}, {{"x", {-1, 3}}, {"z", {0, 7}}}) ==
        "t: int64[2, ?]\nu: float32[7, 3]\nv: float32[...]\ny: float32[...]\n");
  CHECK(with_sizes({{"N", -1}, {"K", 2}}, {}) ==
        "dim \"N\" cannot be -1\n"
        "the model has no symbolic dim \"K\"; did you mean \"M\"? it has \"M\", \"N\"\n");
  CHECK(with_sizes({{"x:0", 2}, {"t:one", 2}, {"t:", 3}}, {}) ==
        "the model has no symbolic dim \"x:0\"; it has \"M\", \"N\"\n"
        "the model has no symbolic dim \"t:one\"; it has \"M\", \"N\"\n"
        "the model has no symbolic dim \"t:\"; it has \"M\", \"N\"\n");
  CHECK(with_sizes({{"N", 4}}, {{"x", {5, 3}}}) == "dim \"N\" cannot be both 4 and 5\n");
  CHECK(with_sizes({}, {{"x", {5, 3}}, {"z", {1, 6}}}) == "dim \"N\" cannot be both 5 and 6\n");
  CHECK(with_sizes({}, {{"x", {-1, 4}}, {"z", {2}}, {"xx", {2}}}) ==
        "input \"x\" is float32[N,3] in the file, which [?,4] contradicts\n"
        "input \"z\" is float32[M,N] in the file, which [2] contradicts\n"
        "\"xx\" is not an input of the model; did you mean \"x\"?\n");
  CHECK(with_sizes({{"N", 2}}, {}, "g (float[2] x) => (float[2] y) { y = Abs (x) }") ==
        "the model has no symbolic dim \"N\"; it has none: every dim of its inputs is fixed or "
        "unknown\n");
  const auto with_computed = [](onnx::ModelProto& model) {
    auto* const type = model.mutable_graph()->mutable_input(0)->mutable_type();
    type->mutable_tensor_type()->mutable_shape()->mutable_dim(1)->set_dim_param(
        "floor(height/2) + 1");
  };
  const std::string computed = "g (float[width, half, height] x) => (float[] y) { y = Abs (x) }";
  CHECK(with_sizes({{"highth", 2}}, {}, computed, with_computed) ==
        "the model has no symbolic dim \"highth\"; did you mean \"height\"? it has \"height\", "
        "\"width\", \"floor(height/2) + 1\"\n");
  CHECK(with_sizes({{"height", 9}}, {}, computed, with_computed) == "y: float32[width, 5, 9]\n");
}

TEST_CASE("Bodies are inferred with what they capture") {
  const std::string text = types(R"(
g (bool c, float[2, 3] x) => (float[2, 3] y) {
  y = If (c) <
    then_branch = th () => (float[a, b] p) { p = Neg (x) },
    else_branch = el () => (float[a, b] q) { q = Abs (x) }
  >
  z = Relu (y)
})");
  CHECK(text.find("y: float32[2, 3]\n") != std::string::npos);
  CHECK(text.find("z: float32[2, 3]\n") != std::string::npos);
}

TEST_CASE("What the branch taken or a function gives as a constant is known outside") {
  CHECK(types(R"(
g (float[8] x) => (float[a, b] y) <bool c = {1}> {
  s = If (c) <
    then_branch = th () => (int64[2] p) <int64[2] p = {4, 2}> { u = Identity (p) },
    else_branch = el () => (int64[2] q) <int64[2] q = {2, 4}> { v = Identity (q) }
  >
  y = Reshape (x, s)
})") == "y: float32[4, 2]\n");
  const std::string with_function = R"(
<ir_version: 8, opset_import: ["" : 17, "local" : 1]>
g (float[8] x) => (float[a, b] y) { s = local.sizes (x)  y = Reshape (x, s) }
<domain: "local", opset_import: ["" : 17]>
sizes (a) => (b) { b = Constant <value = int64[2] {2, 4}> () })";
  CHECK(types(SourceFile::from_text("m.onnx", onnx_bytes(with_function))) ==
        "s: int64[2]\ny: float32[2, 4]\n");
}

TEST_CASE("Outputs after one without a name have their types") {
  const SourceFile source = onnx_file(
      "g (float[5, 1, 3] x, float[1, 8, 3] w, float[1, 8, 2] r) => (float[1, 1, 2] h) {"
      " unread, h = LSTM <hidden_size = 2> (x, w, r)  z = Relu (h) }",
      [](onnx::ModelProto& model) {
        model.mutable_graph()->mutable_node(0)->set_output(0, "");
        model.mutable_graph()->mutable_output(0)->mutable_type()->clear_value();
      });
  CHECK(types(source) == "h: float32[1, 1, 2]\nz: float32[1, 1, 2]\n");
}

// The notes about nodes that do not fit their operators, a line each.
std::string misfits_of(const std::string& graph, const ModelEdit& edit = nullptr) {
  const auto loaded = read_onnx(onnx_file(graph, edit), {});
  if (!loaded) return format_diagnostic(loaded.error().front());
  std::string text;
  for (const std::string& note : loaded->notes) {
    if (note.find("do not fit") != std::string::npos) text += note + "\n";
  }
  return text;
}

TEST_CASE("A node that does not fit its operator is named, with what is wrong") {
  const auto without_second = [](onnx::ModelProto& model) {
    model.mutable_graph()->mutable_node(0)->set_input(1, "");
  };
  CHECK(misfits_of("g (float[2, 3] x, float[3, 2] w) => (float[a, b] y) { y = MatMul (x, w) }",
                   without_second) ==
        "node 0 (MatMul): shapes do not fit: its input 1 is left out\n");
  CHECK(
      misfits_of("g (float[2, 3] x) => (float[a, b] y) { y = ReduceMax <axes = [5]> (x) }") ==
      "node 0 (ReduceMax): shapes do not fit: axis must be in [-rank, rank-1]. input rank was 2\n");
  CHECK(misfits_of("g (float[2, 3] x) => (float[a, b] y) { y = ReduceMax <axes = [1]> (x) }") ==
        "");
}

TEST_CASE("A size of an output alone that its operator contradicts is warned of, with both") {
  const SourceFile source =
      onnx_file("g (float[2, N] x) => (float[M, N] y) { y = Relu (x) }", nullptr);
  const auto warned = [&](std::int64_t m) {
    const auto loaded = read_onnx(source, {.dims = {{"M", m}, {"N", 3}}});
    REQUIRE(loaded);
    return loaded->warnings.empty() ? "" : loaded->warnings.front().message;
  };
  CHECK(warned(2).empty());
  CHECK(warned(7) ==
        "value \"y\" is float32[7,3] with --dim M=7, but by its operator float32[2,3]");
}

// What is wrong with the only node of a model, "" when nothing is; at an opset, with another edit.
std::string misfit_at(int opset, const std::string& graph, const ModelEdit& edit = nullptr) {
  const std::string head =
      "<ir_version: 8, opset_import: [\"\" : " + std::to_string(opset) + ", \"ai.onnx.ml\" : 3]>\n";
  const auto loaded =
      read_onnx(SourceFile::from_text("m.onnx", onnx_bytes(head + graph, edit)), {});
  if (!loaded) return format_diagnostic(loaded.error().front());
  const std::string words = "shapes do not fit: ";
  for (const std::string& note : loaded->notes) {
    const std::size_t at = note.find(words);
    if (at != note.npos) return note.substr(at + words.size());
  }
  return {};
}

TEST_CASE("Calls that the library's functions do not survive are refused in its place") {
  struct Case {
    const char *graph, *fault;
  };
  const Case cases[] = {
      {"g (float[2, 3] x, float[3, 4] w) => (float[a, b] y) { y = Gemm (x, w) }", ""},
      {"g (float[2, 3, 1] x, float[3, 4] w) => (float[a, b] y) { y = Gemm (x, w) }",
       "its inputs are not matrices"},
      {"g (float[2, 3] x, float[3] w) => (float[a, b] y) { y = Gemm (x, w) }",
       "its inputs are not matrices"},
      {"g (float[2, 3] x, float[1] s) => (float[a, b] y) { y = LayerNormalization <axis = 1> (x, "
       "s) }",
       ""},
      {"g (float[2, 3] x, float[1] s) => (float[a, b] y) { y = LayerNormalization <axis = 2> (x, "
       "s) }",
       "its input has no such axis"},
      {"g (float[2, 3] x, float[1] s) => (float[a, b] y) { y = LayerNormalization <axis = -2> (x, "
       "s) }",
       ""},
      {"g (float[2, 3] x, float[1] s) => (float[a, b] y) { y = LayerNormalization <axis = -3> (x, "
       "s) }",
       "its input has no such axis"},
      {"g (float[2, 3] x, int64[2, 3, 1] i) => (float[a] y) { y = GatherND <batch_dims = 3> (x, i) "
       "}",
       "its attribute \"batch_dims\" does not fit its indices"},
      {"g (float[2, 3] x, int64[2, 3, 1] i) => (float[a] y) { y = GatherND <batch_dims = -1> (x, "
       "i) }",
       "its attribute \"batch_dims\" does not fit its indices"},
      {"g (float[2, 3] x, int64[2, 1] i) => (float[a] y) { y = GatherND <batch_dims = 1> (x, i) }",
       ""},
      {"g (float[5, 3] x, float[1, 8, 3] w, float[1, 8, 2] r) => (float[a] y) "
       "{ y = LSTM <hidden_size = 2> (x, w, r) }",
       "its input has no rank of 3"},
      {"g (float[5, 3, 1, 1] x, float[1, 6, 3] w, float[1, 6, 2] r) => (float[a] y) "
       "{ y = GRU <hidden_size = 2> (x, w, r) }",
       "its input has no rank of 3"},
      {"g (float[5, 1, 3] x, float[1, 2, 3] w, float[1, 2, 2] r) => (float[a, b, c, d] y) "
       "{ y = RNN <hidden_size = 2> (x, w, r) }",
       ""},
      {"g (float[1, 2, 8, 8] x, float[3, 5] r) => (float[a, b, c, d] y) "
       "{ y = MaxRoiPool <pooled_shape = [2, 2]> (x, r) }",
       ""},
      {"g (float[1, 2, 8] x, float[3, 5] r) => (float[a] y) { y = MaxRoiPool <pooled_shape = [2, "
       "2]> (x, r) }",
       "its inputs do not have the ranks 4 and 2, or its pooled_shape not 2 sizes"},
      {"g (float[1, 2, 8, 8] x, float[5] r) => (float[a] y) { y = MaxRoiPool <pooled_shape = [2, "
       "2]> (x, r) }",
       "its inputs do not have the ranks 4 and 2, or its pooled_shape not 2 sizes"},
      {"g (float[1, 2, 8, 8] x, float[3, 5] r) => (float[a] y) { y = MaxRoiPool <pooled_shape = "
       "[2]> (x, r) }",
       "its inputs do not have the ranks 4 and 2, or its pooled_shape not 2 sizes"},
      {"g (float[2, 3] x) => (float[a, b] y) { y = ReduceMax <keepdims = 2147483647> (x) }", ""},
      {"g (float[2, 3] x) => (float[a, b] y) { y = Flatten <axis = -2147483648> (x) }",
       "its attribute \"axis\" is too large"},
      {"g (float[2, 3] x) => (float[a, b] y) { y = Flatten <axis = 2147483648> (x) }",
       "its attribute \"axis\" is too large"},
      {"g (float[2, 3] x) => (float[a, b] y) { y = Flatten <axis = 1.5> (x) }",
       "its attribute \"axis\" has another type than the operator's"},
      {"g (float[2, 3] x) => (float[a, b] y) { y = Concat (x, x) }",
       "its attribute \"axis\" is missing"},
      {"g (float[2, 3] x) => (float[a, b] y) { y = Gather (x) }", "it takes at least 2 inputs"},
  };
  for (const Case& one : cases) {
    INFO(one.graph);
    CHECK(misfit_at(17, one.graph) == one.fault);
  }
  const auto of_sequence = [](onnx::ModelProto& model) {
    auto* const type = model.mutable_graph()->mutable_input(0)->mutable_type();
    type->mutable_sequence_type()->mutable_elem_type()->mutable_tensor_type()->set_elem_type(1);
  };
  CHECK(misfit_at(17, "g (float x) => (float[a, b] y) { y = Flatten (x) }", of_sequence) ==
        "its input 0 is not a tensor");
  CHECK(misfit_at(17, "g (float x) => (int64 y) { y = SequenceLength (x) }", of_sequence).empty());
  CHECK(misfit_at(17,
                  "g (float x) => (int64 y) { y = ai.onnx.ml.LabelEncoder <values_int64s = [1]> "
                  "(x) }",
                  of_sequence) == "its input 0 is not a tensor");
  const auto without_outputs = [](onnx::ModelProto& model) {
    model.mutable_graph()->mutable_node(0)->clear_output();
  };
  CHECK(misfit_at(17, "g (float[2, 3] x) => (float[2, 3] x) { y = Flatten (x) }", without_outputs)
            .find("it gives at least 1 outputs") != std::string::npos);
}

TEST_CASE("A Scan reads as many scanned inputs as it has") {
  const auto scan = [](int inputs) {
    return misfit_at(
        17,
        "g (float[3, 2] x, float[3, 2] z) => (float[a, b] y) {\n"
        "y = Scan <num_scan_inputs = " +
            std::to_string(inputs) +
            ", body = b (float[2] i, float[2] j) => (float[2] o) { o = Add (i, j) }> (x, z) }");
  };
  CHECK(scan(2).empty());
  CHECK(scan(0) == "its attribute \"num_scan_inputs\" does not fit its inputs");
  CHECK(scan(3) == "its attribute \"num_scan_inputs\" does not fit its inputs");
}

TEST_CASE("The types of ONNX Runtime's operators that its CPU does not run are inferred") {
  const auto made = [](const std::string& inputs, const std::string& call) {
    const std::string text =
        "<ir_version: 8, opset_import: [\"\" : 17, \"com.microsoft\" : 1]>\ng (" + inputs +
        ") => (float[] y) { y = com.microsoft." + call + " }";
    return types(SourceFile::from_text("m.onnx", onnx_bytes(text)));
  };
  CHECK(made("float[N, 3, 8] x", "BiasSplitGelu (x)") == "y: float32[N, 3, 4]\n");
  CHECK(made("float[N, 3, 7] x", "BiasSplitGelu (x)") == "y: float32[N, 3, ?]\n");
  CHECK(made("float[] x", "BiasSplitGelu (x)") == "y: float32[...]\n");
  CHECK(made("float[N, 3, 8] x", "BiasAdd (x, x, x)") == "y: float32[N, 3, 8]\n");
  CHECK(made("float[N, 3, 8] x, uint8[64] w, float[2] s", "MatMulBnb4 <N = 5> (x, w, s)") ==
        "y: float32[N, 3, 5]\n");
  CHECK(made("float[N, 3, 8] x, uint8[64] w, float[2] s", "MatMulBnb4 (x, w, s)") ==
        "y: float32[N, 3, ?]\n");
  CHECK(made("float[2, 3, 8] x, float[8, 5] w", "GemmFastGelu (x, w)") == "y: float32[2, 3, 5]\n");
  CHECK(made("float[2, 3, 8] x",
             "GroupQueryAttention <num_heads = 2, kv_num_heads = 1> (x, , , , , x, x)") ==
        "y: float32[2, 3, 4]\n");
  CHECK(made("float[2, 3, 8] x",
             "GroupQueryAttention <num_heads = 0, kv_num_heads = 1> (x, , , , , x, x)") ==
        "y: float32[2, 3, ?]\n");
  CHECK(made("float[2, 3, 8] x",
             "GroupQueryAttention <num_heads = 2, kv_num_heads = 0> (x, , , , , x, x)") ==
        "y: float32[2, 3, ?]\n");
  CHECK(made("float[2, 3, 8] x, float[2, 5, 8] k",
             "GroupQueryAttention <num_heads = 2, kv_num_heads = 1> (x, k, k, , , x, x)") ==
        "y: float32[2, 3, 8]\n");
  CHECK(made("float[2, 3, 4, 3, 8] x", "MultiHeadAttention <num_heads = 4> (x)") ==
        "y: float32[...]\n");
  CHECK(made("float[2, 3, 8] x, float[8, 24] w",
             "Attention <num_heads = 2, qkv_hidden_sizes = [8, 8]> (x, w)") ==
        "y: float32[2, 3, ?]\n");
  CHECK(made("float[2, 3, 8] x, float[8, 25] w", "Attention <num_heads = 2> (x, w)") ==
        "y: float32[2, 3, ?]\n");
  CHECK(made("float[2, 3] x", "DynamicQuantizeLSTM <hidden_size = 2> (x, x, x)") ==
        "y: float32[...]\n");
  CHECK(made("float[2, 3, 4] x, uint8[1, 4, 20] w", "DynamicQuantizeLSTM (x, w, w)") ==
        "y: float32[2, 1, 3, 5]\n");
}

TEST_CASE("What does not fit is not named in a branch that never runs, but after it") {
  CHECK(
      misfits_of(R"(
g (bool c, float[2, 3] x) => (float[b] y, float[d] z) <bool yes = {1}> {
  y = If (c) <
    then_branch = th () => (float[e] p) {
      p = If (yes) <
        then_branch = tt () => (float[f] u) { u = Neg (x) },
        else_branch = te () => (float[h] v) { v = ReduceMax <axes = [5]> (x) }
      >
    },
    else_branch = el () => (float[i] q) { q = ReduceSum <axes = [5]> (x) }
  >
  z = ReduceMin <axes = [5]> (x)
})") ==
      "an inner node (ReduceSum): shapes do not fit: axis must be in [-rank, rank-1]. input rank "
      "was 2\n"
      "node 1 (ReduceMin): shapes do not fit: axis must be in [-rank, rank-1]. input rank was 2\n");
}

TEST_CASE("Ten nodes that do not fit are named, and the others counted") {
  const auto misfits = [](std::size_t count) {
    std::string nodes = "y = Neg (x)\n";
    for (std::size_t i = 0; i < count; ++i) {
      nodes += "t" + std::to_string(i) + " = ReduceMax <axes = [5]> (x)\n";
    }
    return misfits_of("g (float[2, 3] x) => (float[2, 3] y) {\n" + nodes + "}");
  };
  std::string ten;
  for (std::size_t i = 1; i <= 10; ++i) {
    ten += "node " + std::to_string(i) + " (ReduceMax): shapes do not fit: axis must be in " +
           "[-rank, rank-1]. input rank was 2\n";
  }
  CHECK(misfits(10) == ten);
  CHECK(misfits(12) == ten + "and 2 more nodes whose shapes do not fit\n");
}

TEST_CASE("A stated type is kept when the operator implies none") {
  const SourceFile source =
      onnx_file("g (float[2] x) => (float[7, 9] y) { t = elsewhere.Odd (x)  y = Relu (t) }",
                [](onnx::ModelProto& model) {
                  with_elsewhere(model);
                  onnx::ValueInfoProto info = model.graph().output(0);
                  info.set_name("t");
                  *model.mutable_graph()->add_value_info() = info;
                });
  CHECK(types(source) == "t: float32[7, 9]\ny: float32[7, 9]\n");
  CHECK(types(source, from(ShapeInference::file)) == "t: float32[7, 9]\ny: float32[7, 9]\n");
  CHECK(types(source, from(ShapeInference::off)) == "t: tensor\ny: float32[7, 9]\n");
}

// ---- operators that changed after the library's version, and those it does not know ----

TEST_CASE("The shapes of pools with dilations are inferred") {
  CHECK(type_at(19, R"(g (float[1, 1, 8, 8] x) => (float[a, b, c, d] y) {
    y = AveragePool <kernel_shape = [2, 2], dilations = [2, 2]> (x) })") ==
        "y: float32[1, 1, 6, 6]\n");
}

TEST_CASE("A window never begins in the padding when sizes round up") {
  CHECK(type_at(17, R"(g (float[1, 1, 2, 2] x) => (float[a, b, c, d] y) {
    y = MaxPool <kernel_shape = [1, 1], strides = [2, 2], ceil_mode = 1> (x) })") ==
        "y: float32[1, 1, 1, 1]\n");
}

TEST_CASE("A DFT of a tensor without a shape has its type") {
  CHECK(type_at(17, "g (float[] x) => (float[] y) { y = DFT (x) }") == "y: float32[...]\n");
  CHECK(type_at(17, "g (float[1, 8, 1] x) => (float[a, b, c] y) { y = DFT (x) }") ==
        "y: float32[1, 8, 2]\n");
  CHECK(type_at(17, "g (float[8] x) => (float[a] y) { y = DFT (x) }") == "y: float32[a]\n");
}

TEST_CASE("Attention gives as many heads as queries have, and the keys of past and present") {
  CHECK(type_at(23, R"(g (float[2, 3, 8, 16] q, float[2, 3, 9, 16] k, float[2, 3, 9, 32] v) =>
    (float[a, b, c, d] y) { y = Attention (q, k, v) })") == "y: float32[2, 3, 8, 32]\n");
  CHECK(type_at(23, R"(g (float[2, 8, 48] q, float[2, 9, 48] k, float[2, 9, 96] v) =>
    (float[a, b, c] y) { y = Attention <q_num_heads = 3, kv_num_heads = 3> (q, k, v) })") ==
        "y: float32[2, 8, 96]\n");
  CHECK(type_at(23, R"(g (float[2, 3, 8, 16] q, float[2, 3, 1, 16] k, float[2, 3, 1, 16] v,
    float[2, 3, 5, 16] pk, float[2, 3, 5, 16] pv) => (float[a, b, c, d] y) {
    y, nk, nv = Attention (q, k, v, , pk, pv)  z = Relu (nk)  w = Relu (nv) })") ==
        "y: float32[2, 3, 8, 16]\nnk: float32[2, 3, 6, 16]\nnv: float32[2, 3, 6, 16]\n"
        "z: float32[2, 3, 6, 16]\nw: float32[2, 3, 6, 16]\n");
  CHECK(type_at(23, R"(g (float[8, 16] q, float[9, 16] k, float[9, 16] v) => (float[a, b] y) {
    y = Attention (q, k, v) })") == "y: float32[a, b]\n");
}

TEST_CASE("Split makes equal parts, of which the last may be smaller from opset 18 on") {
  const auto split = [](int opset, const std::string& size, const std::string& attributes) {
    return type_at(opset, "g (float[" + size +
                              ", 2] x) => (float[a, 2] y, float[b, 2] z) {\n"
                              "y, z = Split" +
                              attributes + " (x) }");
  };
  CHECK(split(17, "6", "") == "y: float32[3, 2]\nz: float32[3, 2]\n");
  CHECK(split(17, "5", "") == "y: float32[a, 2]\nz: float32[b, 2]\n");
  CHECK(split(18, "6", " <num_outputs = 2>") == "y: float32[3, 2]\nz: float32[3, 2]\n");
  CHECK(split(18, "5", " <num_outputs = 2>") == "y: float32[3, 2]\nz: float32[2, 2]\n");
  CHECK(split(17, "N", "") == "y: float32[a, 2]\nz: float32[b, 2]\n");
}

TEST_CASE("NonZero gives an index for each dim, and how many is not known") {
  CHECK(type_at(17, "g (float[2, 3] x) => (int64[a, b] y) { y = NonZero (x) }") ==
        "y: int64[2, b]\n");
  CHECK(type_at(17, "g (float[] x) => (int64[a, b] y) { y = NonZero (x) }") == "y: int64[a, b]\n");
}

TEST_CASE("Squeeze without axes leaves out dims of size 1 in every opset, when all are known") {
  const auto squeezed = [](int opset, const std::string& dims) {
    return type_at(opset, "g (float[" + dims + "] x) => (float[a] y) { y = Squeeze (x) }");
  };
  for (const int opset : {9, 11, 13, 17}) {
    INFO(opset);
    CHECK(squeezed(opset, "1, 2") == "y: float32[2]\n");
    CHECK(squeezed(opset, "2, N") == "y: float32[a]\n");
  }
}

TEST_CASE("Padding is an attribute of Pad before opset 11") {
  CHECK(type_at(10, "g (float[2, 3] x) => (float[a, b] y) { y = Pad <pads = [0, 1, 2, 3]> (x) }") ==
        "y: float32[4, 7]\n");
}

TEST_CASE("Dequantized values have the type of the scale") {
  CHECK(type_at(19, R"(g (uint8[2, 3] x, float16 s) => (float16[a, b] y) {
    y = DequantizeLinear (x, s) })") == "y: float16[2, 3]\n");
}

TEST_CASE("The types of operators newer than the library are inferred") {
  CHECK(type_at(20, "g (float[2, 3] x) => (float[a, b] y) { y = Gelu (x) }") ==
        "y: float32[2, 3]\n");
  CHECK(type_at(18, "g (int32[2, 3] x) => (int32[a, b] y) { y = BitwiseNot (x) }") ==
        "y: int32[2, 3]\n");
  CHECK(type_at(23, R"(g (float[2, 3, 8] x, float[8] s) => (float[a, b, c] y) {
    y = RMSNormalization (x, s) })") == "y: float32[2, 3, 8]\n");
}

TEST_CASE("The types of the regressors and classifiers of ai.onnx.ml are inferred") {
  const std::string head = "<ir_version: 8, opset_import: [\"\" : 17, \"ai.onnx.ml\" : 3]>\n";
  const auto type_of = [&](const std::string& outputs, const std::string& call) {
    return types(SourceFile::from_text(
        "m.onnx", onnx_bytes(head + "g (float[5, 4] x) => (" + outputs + ") { " + call + " }")));
  };
  CHECK(type_of("float[a, b] y",
                "y = ai.onnx.ml.LinearRegressor <targets = 3, coefficients = "
                "[1.0]> (x)") == "y: float32[5, 3]\n");
  CHECK(type_of("float[a, b] y", "y = ai.onnx.ml.SVMRegressor (x)") == "y: float32[5, 1]\n");
  CHECK(type_of("float[a, b] y", "y = ai.onnx.ml.TreeEnsembleRegressor <n_targets = 2> (x)") ==
        "y: float32[5, 2]\n");
  CHECK(type_of("int64[a] y, float[a, b] z",
                "y, z = ai.onnx.ml.LinearClassifier <coefficients = [1.0], classlabels_ints = "
                "[0, 1]> (x)") == "y: int64[5]\nz: float32[5, b]\n");
}

TEST_CASE("The types of ONNX Runtime's common operators are inferred") {
  const std::string model = R"(
<ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1]>
g (float[2, 3, 8] x, float[8] s) => (float[a, b, c] y) {
  t = com.microsoft.SkipLayerNormalization (x, x, s)
  u = com.microsoft.FusedMatMul <transB = 1> (t, x)
  y = com.microsoft.Gelu (u)
})";
  CHECK(types(SourceFile::from_text("m.onnx", onnx_bytes(model))) ==
        "t: float32[2, 3, 8]\nu: float32[2, 3, 3]\ny: float32[2, 3, 3]\n");
  const std::string product = R"(
<ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1]>
g (float[2, 3, 8] x, int8[8, 5] w, float s) => (float[a, b, c] y) {
  y = com.microsoft.DynamicQuantizeMatMul (x, w, s)
})";
  CHECK(types(SourceFile::from_text("m.onnx", onnx_bytes(product))) == "y: float32[2, 3, 5]\n");
}

TEST_CASE("A quantized LSTM gives all states and the last ones") {
  const std::string model = R"(
<ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1]>
g (float[L, 1, 64] x, int8[2, 64, 128] w, int8[2, 32, 128] r) => (float[a, b, c, d] y) {
  y, h, s = com.microsoft.DynamicQuantizeLSTM <direction = "bidirectional", hidden_size = 32> (x, w, r)
})";
  CHECK(types(SourceFile::from_text("m.onnx", onnx_bytes(model))) ==
        "y: float32[L, 2, 1, 32]\nh: float32[2, 1, 32]\ns: float32[2, 1, 32]\n");
}

TEST_CASE("The equation of an Einsum determines the shape") {
  const auto made = [](const std::string& equation, const std::string& inputs,
                       const std::string& names) {
    return type_at(17, "g (" + inputs + ") => (float y) {\n  t = Einsum <equation = \"" + equation +
                           "\"> (" + names + ")\n  y = ReduceSum (t)\n}");
  };
  const auto starts = [](const std::string& text, const std::string& with) {
    return text.substr(0, with.size()) == with;
  };
  CHECK(starts(made("i, j -> i j", "float[64] a, float[28] b", "a, b"), "t: float32[64, 28]\n"));
  CHECK(starts(made("bij,bjk->bik", "float[N, 4, 5] a, float[N, 5, 6] b", "a, b"),
               "t: float32[N, 4, 6]\n"));
  CHECK(starts(made("Bh...,hd->B...d", "float[2, 3, 7, 9] a, float[3, 5] b", "a, b"),
               "t: float32[2, 7, 9, 5]\n"));
  CHECK(starts(made("ij,jk", "float[4, 5] a, float[5, 6] b", "a, b"), "t: float32[4, 6]\n"));
  CHECK(starts(made("...ii->...i", "float[2, 6, 6] a", "a"), "t: float32[2, 6]\n"));
  CHECK_FALSE(
      starts(made("ij,jk->ik", "float[4, 5] a, float[7, 6] b", "a, b"), "t: float32[4, 6]\n"));
  CHECK_FALSE(starts(made("ij->ijz", "float[4, 5] a", "a"), "t: float32[4, 5"));
}

}  // namespace

// ---- infer test ----
//
// The known types and shapes with each of --infer's modes.

namespace {

constexpr const char* kModel = R"(
  g (float[N, 2] x) => (float[N, 2] y) <float[2] w = {1.0, 2.0}, float[N, 2] b> {
    a = Relu(x)
    b = Add(a, w)
    y = Neg(b)
  })";

// "x float32[N, 2]; ..." for all values of the main graph, in order. The notes without the first
// one, which is about nodes without names.
std::string types_by(ShapeInference inference, std::vector<std::string>* notes = nullptr) {
  const TestFolder test;
  ShapeBindings bindings;
  bindings.inference = inference;
  const auto model = read_model(test.with_file("m.onnx", onnx_model(kModel)), bindings);
  REQUIRE(model);
  CHECK(model->bindings.inference == inference);
  if (notes != nullptr) *notes = {model->notes.begin() + 1, model->notes.end()};
  std::string text;
  for (std::size_t i = 0; i < model->graph.value_count(); ++i) {
    const auto value = id_at<ValueId>(i);
    text += (i == 0 ? "" : "; ") + std::string(model->graph.value(value).name) + " " +
            type_text(model->graph, value);
  }
  return text;
}

TEST_CASE("With inference off, only declared inputs, outputs and initializers have types") {
  std::vector<std::string> notes;
  CHECK(types_by(ShapeInference::off, &notes) ==
        "x float32[N, 2]; w float32[2]; a tensor; b tensor; y float32[N, 2]");
  CHECK(notes == std::vector<std::string>{
                     "2 values are of no known type or rank: with --infer off only what the file "
                     "declares is known"});
}

TEST_CASE("With inference from the file, values with value_info have types, too") {
  CHECK(types_by(ShapeInference::file) ==
        "x float32[N, 2]; w float32[2]; a tensor; b float32[N, 2]; y float32[N, 2]");
}

TEST_CASE("With full inference, outputs of operators have types, too") {
  std::vector<std::string> notes;
  CHECK(types_by(ShapeInference::full, &notes) ==
        "x float32[N, 2]; w float32[2]; a float32[N, 2]; b float32[N, 2]; y float32[N, 2]");
  CHECK(notes.empty());
}

// The names of the nodes of a model in which none has a name.
std::string names_by(const char* text, const ShapeBindings& bindings) {
  const TestFolder test;
  const auto model = read_model(test.with_file("m.onnx", onnx_model(text)), bindings);
  REQUIRE(model);
  std::string names;
  for (const NodeId node : model->graph.nodes()) {
    names += (names.empty() ? "" : " ") + std::string(model->graph.node(node).name);
  }
  return names;
}

TEST_CASE("Names that are made tell the place in the file, whatever is folded") {
  constexpr const char* kKnown = R"(
    g (float[N, 2] x) => (float[a, b] y) {
      s = Shape(x)
      r = Reshape(x, s)
      t = Relu(r)
      y = Relu(t)
    })";
  ShapeBindings bindings;
  bindings.dims.push_back({"N", 2});
  CHECK(names_by(kKnown, bindings) == "Shape_0 Reshape_1 Relu_2 Relu_3");
  bindings.folding = Folding::write;
  CHECK(names_by(kKnown, bindings) == "Reshape_1 Relu_2 Relu_3");

  constexpr const char* kDecided = R"(
    g (float[2] x, bool k) => (float[2] z) {
      a = Neg(x)
      y = If (k) <
        then_branch = t () => (float[2] v) { u = Relu(a) w = Exp(u) v = Abs(w) },
        else_branch = f () => (float[2] o) { o = Cos(a) }
      >
      z = Neg(y)
    })";
  ShapeBindings given;
  CHECK(names_by(kDecided, given) == "Neg_0 If_1 Neg_2");
  given.values.push_back({"k", "true"});
  CHECK(names_by(kDecided, given) == "Neg_0 Relu_1_0 Exp_1_1 Abs_1_2 Neg_2");
}

}  // namespace

}  // namespace cleave
