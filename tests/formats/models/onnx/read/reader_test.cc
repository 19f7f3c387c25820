#include "formats/models/onnx/read/reader.h"

#include "tests/catch2.h"
#include "tests/formats/models/bind/graph_description.h"
#include "tests/formats/models/onnx/onnx_text.h"

namespace cleave {
namespace {

// The source outlives the graph, whose names are views into it.
struct Read {
  SourceFile source;
  OnnxLoaded loaded;
};

Read read(SourceFile source) {
  auto loaded = read_onnx(source, {});
  if (!loaded) FAIL(format_diagnostic(loaded.error().front()));
  return {std::move(source), *std::move(loaded)};
}

Read read(const std::string& graph, const ModelEdit& edit = nullptr) {
  return read(onnx_file(graph, edit));
}

std::string described(const std::string& graph, const ModelEdit& edit = nullptr) {
  return cleave::described(read(graph, edit).loaded.graph);
}

// The faults, a line each, without the source line that is shown below them.
std::string faults(const std::string& graph, const ModelEdit& edit = nullptr) {
  const SourceFile source = onnx_file(graph, edit);
  const auto loaded = read_onnx(source, {});
  REQUIRE(!loaded);
  std::string text;
  for (const Diagnostic& fault : loaded.error()) text += fault.message + "\n";
  return text;
}

std::string constants_of(const Graph& graph) {
  std::string names;
  for (const NodeId node : graph.constants()) names += std::string(graph.node(node).name) + " ";
  return names;
}

TEST_CASE("A graph is read with parameters, attributes and positions of inputs") {
  CHECK(described(R"(
g (float[N, 2] x) => (float[N, 2] y) <float[2] w = {1.5, 2}> {
  t = Add (x, w)
  y = Clip <alpha = 0.5, ks = [1, 2]> (t, , w)
})") == R"(input x: float32[N, 2]
parameter w: float32[2]
node Add_0 = Add(0:x 1:w )
  -> t: float32[N, 2]
node Clip_1 = Clip(0:t 2:w )
  alpha real 0.5
  ks integers 1 2
  -> y: float32[N, 2]
output y
)");
}

TEST_CASE("A value that a body reads from outside is an operand of the node that owns the body") {
  const Read made = read(R"(
g (bool c, float[2] x) => (float[2] y) {
  t = Relu (x)
  y = If (c) <
    then_branch = th () => (float[2] a) { u = Neg (t)  a = Abs (u) },
    else_branch = el () => (float[2] b) { b = Add (t, x) }
  >
})");
  const Graph& graph = made.loaded.graph;
  REQUIRE(graph.node_count() == 2);
  std::string captures;
  for (const Operand& operand : graph.operands(NodeId{1})) {
    if (operand.slot.is_capture()) captures += std::string(graph.value(operand.value).name) + " ";
  }
  CHECK(captures == "t x ");
  CHECK(graph.body_nodes(NodeId{1}).size() == 3);
  CHECK(graph.users(graph.outputs(NodeId{0})[0]).size() == 1);
}

TEST_CASE("A capture by a body of a body reaches the outermost node") {
  const Read made = read(R"(
g (bool c, float[2] x) => (float[2] y) {
  y = If (c) <
    then_branch = th () => (float[2] a) {
      a = If (c) <
        then_branch = t2 () => (float[2] p) { p = Neg (x) },
        else_branch = e2 () => (float[2] q) { q = Abs (x) }
      >
    },
    else_branch = el () => (float[2] b) { b = Relu (c) }
  >
})");
  CHECK(cleave::described(made.loaded.graph).find("If(0:c ") != std::string::npos);
  std::size_t captures = 0;
  for (const Operand& operand : made.loaded.graph.operands(NodeId{0})) {
    if (operand.slot.is_capture()) ++captures;
  }
  CHECK(captures >= 1);
  CHECK(made.loaded.graph.users(ValueId{1}).size() == 1);
}

TEST_CASE("Nodes that read only constants are constant, unless they are random") {
  const Read made = read(R"(
g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> {
  k = Constant <value = float[2] {3, 4}> ()
  m = Mul (k, w)
  r = RandomNormal <shape = [2]> ()
  s = Add (x, m)
  y = Add (s, r)
})");
  CHECK(constants_of(made.loaded.graph) == "Constant_0 Mul_1 ");
  CHECK(made.loaded.graph.node_count() == 3);
}

TEST_CASE("Nodes of a body that read only constants are constant") {
  const Read made = read(R"(
g (bool c, float[2] x) => (float[2] y) <float[2] w = {1, 2}> {
  y = If (c) <
    then_branch = th () => (float[2] a) { k = Neg (w)  m = Clip (k, , w)  a = Add (x, m) },
    else_branch = el () => (float[2] b) { b = Abs (x) }
  >
})");
  std::string names;
  for (const NodeId node : made.loaded.graph.body_nodes(NodeId{0})) {
    names += std::string(made.loaded.graph.op(node)) + " ";
  }
  CHECK(names == "Add Abs ");
}

TEST_CASE("An initializer that is a graph input too is a parameter") {
  const ModelEdit also_input = [](onnx::ModelProto& model) {
    *model.mutable_graph()->add_input() = model.graph().input(0);
    model.mutable_graph()->mutable_input(1)->set_name("w");
  };
  const char* const graph =
      "g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Add (x, w) }";
  CHECK(described(graph, also_input) == described(graph));
  const Read later = read(graph, also_input);
  REQUIRE(later.loaded.warnings.size() == 1);
  CHECK(later.loaded.warnings[0].message ==
        "initializers that are graph inputs too, so that a caller may override them, are taken as "
        "constants: \"w\"");
  const Read early = read(graph, [&](onnx::ModelProto& model) {
    also_input(model);
    model.set_ir_version(3);
  });
  CHECK(early.loaded.warnings.empty());
}

TEST_CASE("A sparse initializer is a parameter of its dense shape") {
  CHECK(described("g (float[2,3] x) => (float[2,3] y) { y = Add (x, w) }",
                  [](onnx::ModelProto& model) {
                    auto* sparse = model.mutable_graph()->add_sparse_initializer();
                    sparse->mutable_values()->set_name("w");
                    sparse->mutable_values()->set_data_type(onnx::TensorProto::FLOAT);
                    sparse->mutable_values()->add_dims(1);
                    sparse->mutable_values()->add_float_data(1.0F);
                    sparse->mutable_indices()->set_data_type(onnx::TensorProto::INT64);
                    sparse->mutable_indices()->add_dims(1);
                    sparse->mutable_indices()->add_int64_data(4);
                    sparse->add_dims(2);
                    sparse->add_dims(3);
                  })
            .find("parameter w: float32[2, 3]\n") != std::string::npos);
}

TEST_CASE("Nodes without a name, or with a repeated one, get unique names") {
  const Read made = read(R"(
g (float[2] x) => (float[2] y) { t = Relu (x)  u = Neg (t)  v = Abs (u)  y = Relu (v) })",
                         [](onnx::ModelProto& model) {
                           model.mutable_graph()->mutable_node(1)->set_name("n");
                           model.mutable_graph()->mutable_node(2)->set_name("n");
                         });
  std::string names;
  for (const NodeId node : made.loaded.graph.nodes()) {
    names += std::string(made.loaded.graph.node(node).name) + " ";
  }
  CHECK(names == "Relu_0 n n_2 Relu_3 ");
  REQUIRE(!made.loaded.notes.empty());
}

TEST_CASE("A made name is none that a node has, whatever values and nodes before it are called") {
  const Read made = read(R"(
g (float[2] x) => (float[2] y) { Neg_1 = Relu (x)  u = Neg (Neg_1)  v = Abs (u)  y = Abs (v) })",
                         [](onnx::ModelProto& model) {
                           model.mutable_graph()->mutable_node(0)->set_name("u");
                           model.mutable_graph()->mutable_node(3)->set_name("Abs_2");
                         });
  std::string names;
  for (const NodeId node : made.loaded.graph.nodes()) {
    names += std::string(made.loaded.graph.node(node).name) + " ";
  }
  CHECK(names == "u Neg_1 Abs_2_ Abs_2 ");
}

TEST_CASE("Nodes of one operator have their own attributes, outputs and scopes") {
  const std::string text = described(R"(
g (float[2, 3] x) => (float[?] y) {
  a = LeakyRelu <alpha = 0.5> (x)
  b = LeakyRelu <alpha = 0.25> (a)
  c = LeakyRelu <alpha = 0.5> (b)
  d, e = Split <axis = 0> (c)
  y = Flatten <axis = 1> (e)
})");
  const auto count = [&](std::string_view part) {
    std::size_t found = 0;
    for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++found;
    return found;
  };
  CHECK(count("alpha real 0.5\n") == 2);
  CHECK(count("alpha real 0.25\n") == 1);
  CHECK(count("axis integer 0\n") == 1);
  CHECK(count("axis integer 1\n") == 1);
}

TEST_CASE("Nodes out of order are taken in order, with a warning") {
  const Read made = read("g (float[2] x) => (float[2] y) { y = Neg (t)  t = Relu (x) }");
  CHECK(made.loaded.graph.op(NodeId{0}) == "Relu");
  REQUIRE(made.loaded.warnings.size() == 1);
  CHECK(made.loaded.warnings[0].message ==
        "the nodes are not in topological order; they are read in an order that is");
}

TEST_CASE("A call of the model's own function is one node of its domain") {
  const Read made = read(SourceFile::from_text("m.onnx", onnx_bytes(R"(
<ir_version: 8, opset_import: ["" : 17, "local" : 1]>
g (float[2] x) => (float[2] y) { t = local.block (x)  y = Neg (t) }
<domain: "local", opset_import: ["" : 17]>
block (a) => (b) { c = Relu (a)  b = Abs (c) })")));
  const Graph& graph = made.loaded.graph;
  REQUIRE(graph.node_count() == 2);
  CHECK(graph.op(NodeId{0}) == "block");
  CHECK(graph.domain(NodeId{0}) == "local");
  CHECK(graph.body_nodes(NodeId{0}).empty());
}

TEST_CASE("Names that are not UTF-8 are counted, and the first one is shown") {
  const SourceFile source = onnx_file(
      "g (float[2] x) => (float[2] y) { t = Relu (x)  y = Neg (t) }", [](onnx::ModelProto& model) {
        model.mutable_graph()->mutable_node(0)->set_name(
            "\xff"
            "one");
        model.mutable_graph()->mutable_node(1)->set_name("two\xfe");
      });
  CHECK_FALSE(read_onnx(source, {}));
  ModelLimits limits;
  limits.names = NameBytes::any;
  const auto loaded = read_onnx(source, {}, limits);
  REQUIRE(loaded);
  REQUIRE(loaded->warnings.size() == 1);
  CHECK(loaded->warnings[0].message.starts_with("2 names are not UTF-8, as \"\\xFFone\": "));
}

TEST_CASE("A graph output that no node makes stays an output") {
  CHECK(described("g (float[2] x) => (float[2] y, float[2] x) { y = Relu (x) }")
            .find("output y\noutput x\n") != std::string::npos);
}

// ---- refusals ----

TEST_CASE("A value that nothing produces is refused with the node that reads it") {
  CHECK(faults("g (float[2] x) => (float[2] y) { tempo = Relu (x)  y = Add (x, temp) }") ==
        "node 1 (Add) reads \"temp\", which nothing produces\n");
}

TEST_CASE("A cycle is refused with its path") {
  CHECK_THAT(faults("g (float[2] x) => (float[2] y) { a = Add (x, b)  b = Relu (a)  y = Neg (b) }"),
             Catch::Matchers::Contains("cycle"));
}

TEST_CASE("A value that is made twice is refused") {
  CHECK_THAT(faults("g (float[2] x) => (float[2] y) { y = Relu (x)  y = Neg (x) }"),
             Catch::Matchers::Contains("\"y\""));
}

TEST_CASE("A body that hides an outer name is read as runtimes read it, with a warning") {
  const Read made = read(R"(
g (bool c, float[2] x) => (float[2] y) {
  t = Relu (x)
  y = If (c) <
    then_branch = th () => (float[2] a) { t = Neg (x)  a = Abs (t) },
    else_branch = el () => (float[2] b) { b = Abs (t) }
  >
})");
  REQUIRE(made.loaded.warnings.size() == 1);
  CHECK_THAT(made.loaded.warnings[0].message, Catch::Matchers::Contains("hides the outer value"));
  std::string captures;
  for (const Operand& operand : made.loaded.graph.operands(NodeId{1})) {
    if (!operand.slot.is_capture()) continue;
    captures += std::string(made.loaded.graph.value(operand.value).name) + " ";
  }
  CHECK(captures == "x t ");  // "t" of the other branch
}

}  // namespace

// Elements of constants: initializers with raw and with typed data, and what Constant nodes make.

namespace {

// The elements of parameter `name` of a model with these initializers and nodes.
std::string elements_of(const std::string& name, const std::string& weights,
                        const std::string& nodes = "") {
  const std::string text =
      "<ir_version: 8, opset_import: [\"\" : 18]>\n"
      "g (float[2] x) => (float[?] y) " +
      (weights.empty() ? "" : "<" + weights + "> ") + "{\n" + nodes + "\n y = Use (x, " + name +
      ")\n}";
  const SourceFile source = SourceFile::from_text("m.onnx", onnx_bytes(text));
  const auto loaded = read_onnx(source, {});
  if (!loaded) return format_diagnostic(loaded.error().front());
  for (const ValueId value : loaded->graph.parameters()) {
    if (loaded->graph.value(value).name != name) continue;
    const auto elements = onnx_constant_elements(*loaded->model, loaded->graph, value);
    if (!elements) return "unknown";
    std::string out;
    for (const Literal& element : *elements) {
      out += (out.empty() ? "" : " ");
      if (const auto* const integer = std::get_if<std::int64_t>(&element)) {
        out += std::to_string(*integer);
      } else {
        out += std::to_string(std::get<double>(element));
      }
    }
    return out;
  }
  return "no such parameter";
}

TEST_CASE("initializers and Constant nodes have their elements") {
  CHECK(elements_of("w", "int64[3] w = {1, -2, 3}") == "1 -2 3");
  CHECK(elements_of("w", "float[2] w = {1.5, -2}") == "1.500000 -2.000000");
  CHECK(elements_of("w", "uint8 w = {200}") == "200");
  CHECK(elements_of("w", "bool[2] w = {0, 1}") == "0 1");
  CHECK(elements_of("c", "", "c = Constant <value = int32[2] {7, 8}> ()") == "7 8");
  CHECK(elements_of("c", "", "c = Constant <value_ints = [4, 5]> ()") == "4 5");
  CHECK(elements_of("c", "", "c = Constant <value_float = 0.5> ()") == "0.500000");
}

TEST_CASE("the elements of computed constants are unknown") {
  CHECK(elements_of("c", "int64[1] w = {1}", "c = Neg (w)") == "unknown");
}

}  // namespace

}  // namespace cleave
