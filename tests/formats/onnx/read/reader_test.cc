#include "formats/onnx/read/reader.h"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <random>
#include <sstream>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "tests/catch2.h"
#include "tests/formats/base/graph_description.h"
#include "tests/formats/onnx/read/onnx_text.h"

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

TEST_CASE("A very long attribute stays in the file, beside others that are read") {
  std::string elements = "300";
  for (int i = 1; i < 150'000; ++i) elements += ", 300";
  const std::string text =
      described("g (float[2, 3] x) => (float[2, 3] y) {\n  y = Clip <alpha = 0.5, ks = [" +
                elements + "]> (x)\n}");
  CHECK(text.find("alpha real 0.5\n") != text.npos);
  CHECK(text.find("ks opaque") != text.npos);
  CHECK(text.size() < 1000);
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

TEST_CASE("Faults of records are told for each node, in bodies and in functions too") {
  const auto edit = [](onnx::ModelProto& model) {
    onnx::GraphProto& graph = *model.mutable_graph();
    graph.mutable_node(1)->clear_op_type();
    graph.mutable_node(3)->clear_op_type();
    graph.mutable_node(3)->set_name("nameless");
    auto* const branch = graph.mutable_node(4)->mutable_attribute(1)->mutable_g();
    branch->mutable_node(1)->set_domain("far");
    branch->mutable_node(2)->set_domain("far");
    branch->mutable_node(2)->clear_op_type();
    graph.mutable_node(6)->set_domain("near");
    graph.mutable_initializer(1)->set_dims(0, -3);
    graph.mutable_initializer(2)->set_dims(0, INT64_MAX);
    onnx::FunctionProto function;
    function.set_name("f");
    function.set_domain("own");
    auto* const opset = function.add_opset_import();
    opset->set_domain("own");
    for (const char* const op : {"g", "", "h"}) {
      auto* const node = function.add_node();
      node->set_op_type(op);
      node->set_domain("own");
    }
    *model.add_functions() = function;
    *model.add_functions() = function;
    function.set_name("g");
    function.mutable_node(0)->set_op_type("f");
    function.mutable_node(2)->set_domain("");
    *model.add_functions() = function;
  };
  CHECK(faults(R"(
g (bool c, float[2] x) => (float[2] y) <float[1] u = {1}, float[1] v = {1}, float[1, 2] w = {1, 2}> {
  a = Relu (x)
  b = Relu (a)
  d = Relu (b)
  e = Relu (d)
  s = If (c) <then_branch = th () => (float[2] p) { p = Relu (e) },
              else_branch = el () => (float[2] q) { n = Neg (e)  o = Neg (n)  q = Neg (o) }>
  t = Relu (s)
  y = Relu (t)
})",
               edit) == R"(initializer "v" has a dim of -3
initializer "w" has more elements than 2^63-1
node 1 () has no operator
node "nameless" has no operator
node 1 (Neg) in a body of node 4 (If) is of domain "far", of which no opset is imported: add it to opset_import
node 2 () in a body of node 4 (If) has no operator
node 6 (Relu) is of domain "near", of which no opset is imported: add it to opset_import
node 1 () of function "f" has no operator
two functions are called "f" in domain "own"
node 1 () of function "f" has no operator
node 1 () of function "g" has no operator
node 2 (h) of function "g" is of domain "ai.onnx", of which no opset is imported: add it to opset_import
functions call each other in a cycle: "g" -> "f" -> "g"
)");
  const auto many = [](int count) {
    return faults("g (float[2] x) => (float[2] y) { y = Relu (x) }", [&](onnx::ModelProto& model) {
      for (int i = 0; i < count; ++i) model.mutable_graph()->add_node();
    });
  };
  CHECK(many(1) == "node 1 () has no operator\n");
  CHECK(many(20).ends_with("node 19 () has no operator\nnode 20 () has no operator\n"));
  CHECK(many(22).ends_with("node 19 () has no operator\nnode 20 () has no operator\n"));
}

TEST_CASE("IR versions that are not known, and data of another size, are warned of") {
  const auto warnings = [](int ir, const ModelEdit& edit = nullptr) {
    const Read made =
        read("g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Add (x, w) }",
             [&](onnx::ModelProto& model) {
               model.set_ir_version(ir);
               if (ir < 3) model.clear_opset_import();
               if (edit) edit(model);
             });
    std::string text;
    for (const Diagnostic& one : made.loaded.warnings) text += one.message + "\n";
    return text;
  };
  CHECK(warnings(2) == "");
  CHECK(warnings(13).empty());
  CHECK(warnings(14) ==
        "IR version 14 is newer than cleave knows (13); read as far as it is known\n");
  const auto with_raw = [](std::initializer_list<std::size_t> sizes) {
    return [=](onnx::ModelProto& model) {
      char name = 'a';
      for (const std::size_t size : sizes) {
        auto* const tensor = model.mutable_graph()->add_initializer();
        tensor->set_name(std::string(1, name++));
        tensor->set_data_type(onnx::TensorProto::FLOAT);
        tensor->add_dims(3);
        tensor->set_raw_data(std::string(size, 'r'));
      }
    };
  };
  CHECK(warnings(8, with_raw({12, 11, 12, 13})) ==
        "initializer \"b\" has 11 bytes of data where its type and dims need 12\n"
        "initializer \"d\" has 13 bytes of data where its type and dims need 12\n");
  CHECK(warnings(8, with_raw({1, 2, 3, 4, 5})) ==
        "initializer \"a\" has 1 bytes of data where its type and dims need 12\n"
        "initializer \"b\" has 2 bytes of data where its type and dims need 12\n"
        "initializer \"c\" has 3 bytes of data where its type and dims need 12\n");
}

TEST_CASE("The scope of a node is what its exporter noted, else the path in its name") {
  const auto scopes = [](const std::vector<std::vector<std::string>>& names_and_notes) {
    std::string nodes = "t0 = Relu (x) ";
    for (std::size_t i = 1; i < names_and_notes.size(); ++i) {
      nodes += "t" + std::to_string(i) + " = Relu (t" + std::to_string(i - 1) + ") ";
    }
    const Read made = read("g (float[2] x) => (float[2] t" +
                               std::to_string(names_and_notes.size() - 1) + ") {" + nodes + "}",
                           [&](onnx::ModelProto& model) {
                             int at = 0;
                             for (const auto& one : names_and_notes) {
                               auto& node = *model.mutable_graph()->mutable_node(at++);
                               node.set_name(one[0]);
                               std::string fields;  // metadata_props, newer than the library
                               for (std::size_t i = 1; i < one.size(); i += 2) {
                                 onnx::StringStringEntryProto entry;
                                 entry.set_key(one[i]);
                                 entry.set_value(one[i + 1]);
                                 const std::string bytes = entry.SerializeAsString();
                                 fields += '\x4a';
                                 fields += static_cast<char>(bytes.size());
                                 fields += bytes;
                               }
                               node.ParseFromString(node.SerializeAsString() + fields);
                             }
                           });
    std::string text;
    for (const NodeId node : made.loaded.graph.nodes()) {
      text += std::string(made.loaded.graph.text(made.loaded.graph.node(node).scope)) + "\n";
    }
    return text;
  };
  const std::string list = "pkg.torch.onnx.name_scopes", path = "namespace";
  CHECK(
      scopes({{"plain"},
              {"/Relu"},
              {"/encoder//layer.0/Relu"},
              {"/encoder//layer.0/Relu_1"},
              {"/encoder/layer.1/Relu"},
              {"a/b/"},
              {"/a/r", list, "['', 'enc', 'enc.0', 'relu']"},
              {"r1", path, ": main.Net/enc: main.Enc/ enc.1 : Linear/x: aten.relu", "k", "v"},
              {"r2", path, "first: A/x", list, "[\"\", \"second\", \"it's\"]", path, "third: B/x"},
              {"r3", path, "first: A/x", path, "second: B/x"},
              {"/a/r4", list, "['only']"},
              {"/a/r5", list, "['open', 'end', 'x"},
              {"/a/r6", path, "none"},
              {"/a/r7", path, "x: X/: Y/z"},
              {"/a/r8", path, ""}}) ==
      "\n\nencoder.layer.0\nencoder.layer.0\nencoder.layer.1\na.b\nenc.0\nenc."
      "1\nsecond\nfirst\n\nopen\n\nx\n\n");
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

// ---- elements of each dtype, as the file has them ----

// "1 -2 0.5": the elements of an initializer of that dtype, "none" when they are not read.
std::string elements_of(int dtype, std::vector<std::int64_t> dims, const std::string& raw,
                        const std::function<void(onnx::TensorProto&)>& fill = nullptr) {
  const Read made = read("g (float[2] x) => (float[2] y) <float w = {1}> { y = Add (x, w) }",
                         [&](onnx::ModelProto& model) {
                           auto* tensor = model.mutable_graph()->mutable_initializer(0);
                           tensor->clear_float_data();
                           tensor->clear_dims();
                           tensor->set_data_type(dtype);
                           for (const std::int64_t dim : dims) tensor->add_dims(dim);
                           if (fill) {
                             fill(*tensor);
                           } else {
                             tensor->set_raw_data(raw);
                           }
                         });
  const Graph& graph = made.loaded.graph;
  for (std::size_t i = 0; i < graph.value_count(); ++i) {
    const auto value = id_at<ValueId>(i);
    if (graph.value(value).name != "w") continue;
    const auto elements = onnx_constant_elements(*made.loaded.model, graph, value);
    if (!elements) return "none";
    std::ostringstream text;
    for (const Literal& one : *elements) {
      text << (text.tellp() > 0 ? " " : "");
      std::visit([&](const auto& it) { text << it; }, one);
    }
    return text.str();
  }
  return "no value";
}

template <class T>
std::string raw_of(std::initializer_list<T> values) {
  return {reinterpret_cast<const char*>(std::data(values)), values.size() * sizeof(T)};
}

TEST_CASE("elements of each dtype are read from raw data, to their bounds") {
  CHECK(elements_of(2, {2}, raw_of<std::uint8_t>({0, 255})) == "0 255");
  CHECK(elements_of(3, {3}, raw_of<std::int8_t>({-128, 127, -1})) == "-128 127 -1");
  CHECK(elements_of(4, {2}, raw_of<std::uint16_t>({1, 65535})) == "1 65535");
  CHECK(elements_of(5, {2}, raw_of<std::int16_t>({-32768, 32767})) == "-32768 32767");
  CHECK(elements_of(6, {2}, raw_of<std::int32_t>({INT32_MIN, INT32_MAX})) ==
        "-2147483648 2147483647");
  CHECK(elements_of(7, {1}, raw_of<std::int64_t>({INT64_MIN})) == "-9223372036854775808");
  CHECK(elements_of(9, {2}, raw_of<std::uint8_t>({1, 0})) == "1 0");
  CHECK(elements_of(12, {1}, raw_of<std::uint32_t>({4294967295U})) == "4294967295");
  CHECK(elements_of(1, {2}, raw_of<float>({0.5F, -2})) == "0.5 -2");
  CHECK(elements_of(11, {2}, raw_of<double>({0.25, 1e300})) == "0.25 1e+300");
  CHECK(elements_of(16, {2}, raw_of<std::uint16_t>({0x3F80, 0xC000})) == "1 -2");
  CHECK(elements_of(13, {1}, raw_of<std::uint64_t>({5})) == "none");
  CHECK(elements_of(7, {}, raw_of<std::int64_t>({5})) == "5");
  CHECK(elements_of(7, {0}, "").empty());
  CHECK(elements_of(7, {2, 0, 3}, "").empty());
  CHECK(elements_of(7, {2}, raw_of<std::int64_t>({5})) == "none");
  CHECK(elements_of(7, {1}, raw_of<std::int64_t>({5, 6})) == "none");
}

TEST_CASE("numbers of 16 bits with a point are what the format says, for every exponent") {
  const auto half = [](std::uint16_t bits) {
    return elements_of(10, {1}, raw_of<std::uint16_t>({bits}));
  };
  CHECK(half(0x0000) == "0");
  CHECK(half(0x8000) == "-0");
  CHECK(half(0x3C00) == "1");
  CHECK(half(0xBC00) == "-1");
  CHECK(half(0x3C01) == "1.00098");
  CHECK(half(0x7BFF) == "65504");
  CHECK(half(0xFBFF) == "-65504");
  CHECK(half(0x7C00) == "inf");
  CHECK(half(0xFC00) == "-inf");
  CHECK(half(0x7C01).find("nan") != std::string::npos);
  CHECK(half(0x0001) == "5.96046e-08");
  CHECK(half(0x03FF) == "6.09756e-05");
  CHECK(half(0x0400) == "6.10352e-05");
  double power = 6.103515625e-05;  // 2^-14
  for (unsigned exponent = 1; exponent < 31; ++exponent, power *= 2) {
    std::ostringstream text;
    text << power * 1.5;
    CHECK(half(static_cast<std::uint16_t>(exponent << 10U | 0x200U)) == text.str());
  }
}

TEST_CASE("elements in typed fields are those in raw data") {
  const auto typed = [](int dtype, std::int64_t size,
                        const std::function<void(onnx::TensorProto&)>& fill) {
    return elements_of(dtype, {size}, {}, fill);
  };
  CHECK(typed(7, 2, [](auto& t) { t.add_int64_data(-5), t.add_int64_data(6); }) == "-5 6");
  CHECK(typed(6, 1, [](auto& t) { t.add_int32_data(-5); }) == "-5");
  CHECK(typed(9, 2, [](auto& t) { t.add_int32_data(1), t.add_int32_data(0); }) == "1 0");
  CHECK(typed(12, 1, [](auto& t) { t.add_uint64_data(7); }) == "7");
  CHECK(typed(1, 2, [](auto& t) { t.add_float_data(0.5F), t.add_float_data(-1); }) == "0.5 -1");
  CHECK(typed(11, 1, [](auto& t) { t.add_double_data(0.25); }) == "0.25");
  CHECK(typed(7, 3, [](auto& t) { t.add_int64_data(-5); }) == "none");
}

TEST_CASE("raw data counts where a tensor has typed data too, and tensors may have no elements") {
  CHECK(elements_of(7, {1}, {}, [](auto& t) {
          t.set_raw_data(raw_of<std::int64_t>({5}));
          t.add_int64_data(6);
        }) == "5");
  for (const int dtype : {1, 2, 7, 9, 10, 11, 16}) CHECK(elements_of(dtype, {3, 0}, "").empty());
}

// The elements of what a Constant with these attributes makes.
std::string elements_made(const std::function<void(onnx::NodeProto&)>& edit) {
  const Read made =
      read("g (float[2] x) => (float[2] y) { c = Constant <value_int = 1> () y = Use (x, c) }",
           [&](onnx::ModelProto& model) {
             auto* const node = model.mutable_graph()->mutable_node(0);
             node->clear_attribute();
             edit(*node);
           });
  const Graph& graph = made.loaded.graph;
  const ValueId value = graph.parameters()[0];
  const auto elements = onnx_constant_elements(*made.loaded.model, graph, value);
  if (!elements) return "none";
  std::ostringstream text;
  for (const Literal& one : *elements) std::visit([&](const auto& it) { text << it << ' '; }, one);
  return text.str();
}

TEST_CASE("a Constant's elements are those of its one attribute of numbers, of up to 65,536") {
  const auto add = [](onnx::NodeProto& node, const std::string& name, auto type) {
    auto* const attribute = node.add_attribute();
    attribute->set_name(name);
    attribute->set_type(type);
    return attribute;
  };
  const auto ints = [&](int count) {
    return elements_made([&](onnx::NodeProto& node) {
      auto* const attribute = add(node, "value_ints", onnx::AttributeProto::INTS);
      for (int i = 0; i < count; ++i) attribute->add_ints(7);
    });
  };
  CHECK(ints(0) == "none");
  CHECK(ints(1) == "7 ");
  CHECK(ints(65'536).size() == 2 * 65'536);
  CHECK(ints(65'537) == "none");
  CHECK(elements_made([&](auto& node) {
          auto* const attribute = add(node, "value_floats", onnx::AttributeProto::FLOATS);
          attribute->add_floats(0.5);
          attribute->add_floats(-2);
        }) == "0.5 -2 ");
  CHECK(elements_made([&](auto& node) {
          add(node, "value_string", onnx::AttributeProto::STRING)->set_s("7");
        }) == "none");
  CHECK(elements_made([&](auto& node) {
          add(node, "value_int", onnx::AttributeProto::INT)->set_i(7);
          add(node, "value_float", onnx::AttributeProto::FLOAT)->set_f(7);
        }) == "none");
}

TEST_CASE("constants of up to 65,536 elements are read") {
  const auto count_of = [](std::int64_t rows, std::int64_t columns) {
    const std::string text = elements_of(
        2, {rows, columns}, std::string(static_cast<std::size_t>(rows * columns), '\1'));
    return text == "none" ? 0 : std::count(text.begin(), text.end(), '1');
  };
  CHECK(count_of(65'536, 1) == 65'536);
  CHECK(count_of(256, 256) == 65'536);
  CHECK(count_of(65'537, 1) == 0);
  CHECK(count_of(257, 256) == 0);
}

// ---- protobuf may have fields in any order ----

enum class Message { other, model, graph, node, attribute, tensor, value };

Message within(Message outer, std::uint64_t number) {
  if (outer == Message::model) return number == 7 ? Message::graph : Message::other;
  if (outer == Message::node) return number == 5 ? Message::attribute : Message::other;
  if (outer == Message::attribute) {
    return number == 5 ? Message::tensor : number == 6 ? Message::graph : Message::other;
  }
  if (outer != Message::graph) return Message::other;
  return number == 1                    ? Message::node
         : number == 5                  ? Message::tensor
         : number >= 11 && number <= 13 ? Message::value
                                        : Message::other;
}

std::string varint(std::uint64_t number) {
  std::string bytes;
  for (; number >= 128; number /= 128) bytes += static_cast<char>(number % 128 + 128);
  return bytes + static_cast<char>(number);
}

// The message with its fields in another order, which is the same for fields of one number.
std::string shuffled(const std::string& bytes, Message kind, std::mt19937& random) {
  std::map<std::uint64_t, std::deque<std::string>> fields;  // whole ones, by their numbers
  std::vector<std::uint64_t> order;
  std::size_t at = 0;
  const auto inner_of = [&](const std::string& message, Message its) {
    return its == Message::other ? message : shuffled(message, its, random);
  };
  const auto take = [&] {
    std::uint64_t number = 0;
    for (unsigned shift = 0;; shift += 7) {
      const auto byte = static_cast<unsigned char>(bytes.at(at++));
      number |= std::uint64_t{byte & 0x7FU} << shift;
      if (byte < 0x80) return number;
    }
  };
  while (at < bytes.size()) {
    const std::uint64_t key = take();
    const std::size_t begin = at;
    std::string payload;
    if (key % 8 == 0) {
      take();
      payload = bytes.substr(begin, at - begin);
    } else if (key % 8 == 2) {
      const std::size_t size = take();
      const std::string inner = inner_of(bytes.substr(at, size), within(kind, key / 8));
      payload = varint(inner.size()) + inner;
      at += size;
    } else {
      at += key % 8 == 5 ? 4 : 8;
      payload = bytes.substr(begin, at - begin);
    }
    fields[key / 8].push_back(varint(key) + payload);
    order.push_back(key / 8);
  }
  std::shuffle(order.begin(), order.end(), random);
  std::string made;
  for (const std::uint64_t number : order) {
    made += fields[number].front();
    fields[number].pop_front();
  }
  return made;
}

TEST_CASE("a model means the same with the fields of its messages in any order") {
  const std::string whole(onnx_bytes(R"(
<ir_version: 8, opset_import: ["" : 17], producer_name: "p", model_version: 3>
g (bool c, float[N, 2] x) => (float[N, 2] y, float[k] e) <float[2] w = {1.5, 2}, int64[1] s = {-1}> {
  t = Add (x, w)
  u = Clip <alpha = 0.5, ks = [1, 2], text = "a"> (t, , w)
  v = Constant <value = float[2] {3, 4}> ()
  z = If (c) <then_branch = th () => (float[N, 2] a) { a = Relu (u) },
              else_branch = el () => (float[N, 2] b) { b = Neg (u) }>
  y = Mul (z, v)
  e = Reshape (y, s)
})"));
  const std::string right =
      cleave::described(read(SourceFile::from_text("m.onnx", whole)).loaded.graph);
  std::mt19937 random(7);
  for (int i = 0; i < 60; ++i) {
    SourceFile file = SourceFile::from_text("m.onnx", shuffled(whole, Message::model, random));
    CHECK(cleave::described(read(std::move(file)).loaded.graph) == right);
  }
}

TEST_CASE("limits of ONNX models are those that are given") {
  const std::string model = R"(
g (bool c, float[1, 2, 3] x) => (float[1, 2, 3] y) {
  t = Clip <alpha = 0.5, beta = 1> (x, x)
  y = If (c) <then_branch = th () => (float[1, 2, 3] a) { long_name = Relu (t) a = Neg (long_name) },
              else_branch = el () => (float[1, 2, 3] b) { b = Neg (t) }>
})";
  const auto fault = [&](const ModelLimits& limits) {
    const auto loaded = read_onnx(onnx_file(model), {}, limits);
    return loaded
               ? std::string()
               : loaded.error().front().message.substr(0, loaded.error().front().message.find(';'));
  };
  CHECK(fault({}).empty());
  CHECK(fault({.nodes = 5}).empty());
  CHECK(fault({.nodes = 4}).ends_with("has more than 4 nodes"));
  CHECK(fault({.values = 11}).empty());
  CHECK(fault({.values = 10}).find("has more than 10 values") != std::string::npos);
  CHECK(fault({.attributes = 2}).empty());
  CHECK(fault({.attributes = 1}).ends_with("has more than 1 attributes"));
  CHECK(fault({.dims = 3}).empty());
  CHECK(fault({.dims = 2}).find("has more than 2 dims") != std::string::npos);
  CHECK(fault({.name_bytes = 11}).empty());
  CHECK(fault({.name_bytes = 10}).find("has more than 10 bytes") != std::string::npos);
}

}  // namespace

}  // namespace cleave
