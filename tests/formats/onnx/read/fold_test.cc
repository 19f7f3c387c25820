#include "formats/onnx/read/reader.h"

#include <algorithm>
#include <string>

#include "formats/onnx/index/index.h"
#include "tests/catch2.h"
#include "tests/formats/onnx/read/onnx_text.h"

namespace cleave {

namespace {

constexpr const char* kNested = R"(
  g (float[2] x, bool c) => (float[2] y) {
    y = If (c) <
      then_branch = one () => (float[2] t) { t = Add (x, a) },
      else_branch = two () => (float[2] a) { a = Neg (x) }
    >
    a = Abs (x)
  })";

// The node of the model, renamed and read by the ONNX library.
onnx::NodeProto renamed(const std::string& model, const OnnxRenames& names) {
  const SourceFile source = onnx_file(model);
  const auto index = index_onnx(source);
  REQUIRE(index);
  OnnxNode room;
  onnx::NodeProto node;
  REQUIRE(node.ParseFromString(renamed_onnx_node(index->graph.nodes.read(0, room), names)));
  return node;
}

TEST_CASE("A value is renamed in a node and in its bodies, unless a body makes it itself") {
  const onnx::NodeProto node = renamed(kNested, {{"a", "b"}, {"y", "out"}, {"c", "if"}});
  CHECK(node.input(0) == "if");
  CHECK(node.output(0) == "out");
  std::string then_reads, else_makes;
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    if (attribute.name() == "then_branch") then_reads = attribute.g().node(0).input(1);
    if (attribute.name() == "else_branch") else_makes = attribute.g().output(0).name();
  }
  CHECK(then_reads == "b");
  CHECK(else_makes == "a");
}

TEST_CASE("A renamed value that only bodies read is mentioned, a hidden one is not") {
  const SourceFile source = onnx_file(kNested);
  const auto index = index_onnx(source);
  REQUIRE(index);
  OnnxNode room;
  const OnnxNode& node = index->graph.nodes.read(0, room);
  CHECK(mentions_renamed(node, {{"a", "b"}}));
  CHECK(mentions_renamed(node, {{"x", "b"}}));
  CHECK_FALSE(mentions_renamed(node, {{"t", "b"}}));
  CHECK_FALSE(mentions_renamed(node, {}));
}

// The plan for the first branch of the model's first node: "a -> b" for each rename, "a = b" for
// each copy, or why there is none.
std::string plan_text(const std::string& model, const ModelEdit& edit = nullptr) {
  const SourceFile source = onnx_file(model, edit);
  auto index = index_onnx(source);
  REQUIRE(index);
  const auto links = link_onnx_graph("m.onnx", *index);
  REQUIRE(links);
  OnnxNode room;
  const OnnxNode& node = index->graph.nodes.read(0, room);
  const auto planned =
      OnnxBranchPlanner(*index, *links).plan(node, node.attributes.at(0).graphs.at(0));
  if (const auto* why = std::get_if<std::string_view>(&planned)) return std::string(*why);
  const auto& plan = std::get<OnnxBranchPlan>(planned);
  std::vector<std::string> lines;
  for (const auto& [from, to] : plan.names) {
    lines.push_back(std::string(from) + " -> " + std::string(to));
  }
  for (const auto& [from, to] : plan.copies) {
    lines.push_back(std::string(to) + " = " + std::string(from));
  }
  std::sort(lines.begin(), lines.end());
  std::string text;
  for (const std::string& line : lines) text += (text.empty() ? "" : ", ") + line;
  return text;
}

std::string if_with(const std::string& branch, const std::string& rest = "") {
  return "g (float[2] x, bool c) => (float[2] y) {\n y = If (c) <then_branch = one () => " +
         branch + ", else_branch = two () => (float[2] e) { e = Abs (x) }>\n" + rest + "}";
}

TEST_CASE("A result of the branch gets the name of the If's output") {
  CHECK(plan_text(if_with("(float[2] t) { u = Neg (x) t = Abs (u) }")) == "t -> y");
}

TEST_CASE("A result that the branch takes from outside is copied") {
  CHECK(plan_text(if_with("(float[2] x) { u = Neg (x) }")) == "y = x");
}

TEST_CASE("A result without a name in the model is left out, those after it are not") {
  const auto without_first = [](onnx::ModelProto& model) {
    model.mutable_graph()->mutable_node(0)->set_output(0, "");
  };
  CHECK(plan_text("g (float[2] x, bool c) => (float[2] y) {\n unread, y = If (c) <then_branch = one"
                  " () => (float[2] s, float[2] t) { s = Neg (x) t = Abs (x) }, else_branch = two "
                  "() => (float[2] e, float[2] f) { e = Abs (x) f = Neg (x) }>\n}",
                  without_first) == "t -> y");
}

TEST_CASE("A name of another value is changed") {
  CHECK(plan_text(if_with("(float[2] t) { u = Neg (x) t = Abs (u) }", "u = Exp (x)")) ==
        "t -> y, u -> u_2");
}

TEST_CASE("A weight with the name of another value refuses the branch") {
  CHECK(
      plan_text(if_with("(float[2] t) <float[2] w = {1, 2}> { t = Add (x, w) }", "w = Exp (x)")) ==
      "a weight of its branch has the name of another value");
}

// The operators that are left; then the number of nodes dropped but for Constants, or "none".
std::string left(const std::string& model, const std::vector<std::string_view>& loose) {
  const SourceFile source = onnx_file(model);
  auto index = index_onnx(source);
  REQUIRE(index);
  const auto links = link_onnx_graph("m.onnx", *index);
  REQUIRE(links);
  const auto dropped = drop_unread_nodes(*index, *links, loose);
  std::string text;
  OnnxNode room;
  for (std::size_t i = 0; i < index->graph.nodes.size(); ++i) {
    text += std::string(index->graph.nodes.read_names(i, room).op_type) + ' ';
  }
  return text + (dropped ? std::to_string(*dropped) : "none");
}

constexpr const char* kModel = R"(
  g (float[2] x, bool c) => (float[2] y) {
    one = Constant <value = float {1}> ()
    a = Add (x, one)
    b = Neg (a)
    d = Exp (a)
    e = Abs (x)
    y = If (c) <
      then_branch = t () => (float[2] u) { u = Relu (d) },
      else_branch = f () => (float[2] v) { v = Cos (x) }
    >
  })";

TEST_CASE(
    "Nodes are dropped backwards from a value without readers, as far as nothing else reads") {
  CHECK(left(kModel, {"b"}) == "Constant Add Exp Abs If 1");
  CHECK(left(kModel, {"e"}) == "Constant Add Neg Exp If 1");
}

TEST_CASE("What a body or the graph's output reads stays") {
  CHECK(left(kModel, {"d", "y", "x"}) == "Constant Add Neg Exp Abs If none");
}

TEST_CASE("A Constant goes with its last reader, and is not counted") {
  CHECK(left("g (float[2] x) => (float[2] y) { k = Constant <value = float {1}> () "
             "a = Add (x, k) y = Neg (x) }",
             {"a"}) == "Neg 1");
}

// The nodes of the split, "Neg(x) -> y", one per line, then the notes.
struct Read {
  std::string nodes;
  std::vector<std::string> notes;
};

std::string node_line(const Graph& graph, NodeId node) {
  std::string text(graph.op(node));
  text += '(';
  for (const Operand& operand : graph.operands(node)) {
    if (text.back() != '(') text += ", ";
    text += graph.value(operand.value).name;
  }
  text += ") ->";
  for (const ValueId value : graph.outputs(node)) {
    text += ' ' + std::string(graph.value(value).name);
  }
  return text;
}

Read read(const std::string& model, const ShapeBindings& bindings) {
  const SourceFile source = onnx_file(model);
  const auto loaded = read_onnx(source, bindings);
  if (!loaded) return {.nodes = loaded.error().front().message, .notes = {}};
  Read out;
  for (const std::string& note : loaded->notes) {
    if (note.find("without a name") == std::string::npos) out.notes.push_back(note);
  }
  for (const NodeId node : loaded->graph.nodes()) {
    out.nodes += node_line(loaded->graph, node) + '\n';
  }
  return out;
}

Read read_at(const std::string& rate, const std::string& model, Folding folding = Folding::report) {
  ShapeBindings bindings;
  bindings.values = {{"sr", rate}};
  bindings.folding = folding;
  return read(model, bindings);
}

constexpr const char* kRated = R"(
  g (float[2, 8] x, int64 sr) => (float[a, b] y) {
    limit = Constant <value = int64 {16000}> ()
    is_wide = Equal (sr, limit)
    z = Abs (x)
    r = If (is_wide) <
      then_branch = wide () => (float[a, b] t) { u = Neg (z)  t = Relu (u) },
      else_branch = narrow () => (float[a, b] e) { u = Transpose (z)  e = Relu (u) }
    >
    y = Sigmoid (r)
  })";

TEST_CASE("The branch that is taken is in the place of its If") {
  const Read wide = read_at("16000", kRated);
  CHECK(wide.nodes == "Abs(x) -> z\nNeg(z) -> u\nRelu(u) -> r\nSigmoid(r) -> y\n");
  CHECK(wide.notes.at(0) == "node 3 (If) always takes its then_branch, which is in its place");
  CHECK(wide.notes.at(1) ==
        "1 node is left out, because only what was replaced read what it makes");
  CHECK(read_at("8000", kRated).nodes ==
        "Abs(x) -> z\nTranspose(z) -> u\nRelu(u) -> r\nSigmoid(r) -> y\n");
}

TEST_CASE("With folding off an If stays") {
  CHECK(read_at("16000", kRated, Folding::off).nodes ==
        "Equal(sr, limit) -> is_wide\nAbs(x) -> z\nIf(is_wide, z) -> r\nSigmoid(r) -> y\n");
}

TEST_CASE("An If whose condition is not known stays") {
  CHECK(read(kRated, {}).nodes ==
        "Equal(sr, limit) -> is_wide\nAbs(x) -> z\nIf(is_wide, z) -> r\nSigmoid(r) -> y\n");
}

TEST_CASE("An If within a branch is decided next") {
  const Read nested = read_at("1", R"(
    g (float[2] x, bool sr) => (float[2] y) {
      y = If (sr) <
        then_branch = one () => (float[2] t) {
          a = Neg (x)
          t = If (sr) <
            then_branch = two () => (float[2] v) { v = Exp (a) },
            else_branch = three () => (float[2] w) { w = Log (a) }
          >
        },
        else_branch = four () => (float[2] e) { e = Abs (x) }
      >
    })");
  CHECK(nested.nodes == "Neg(x) -> a\nExp(a) -> y\n");
}

TEST_CASE("Names that other values have are changed, also where a body reads them") {
  const Read twice = read_at("1", R"(
    g (float[2] x, bool sr, bool c) => (float[2] y, float[2] z) {
      y = If (sr) <
        then_branch = one () => (float[2] t) { a = Neg (x)  t = Exp (a) },
        else_branch = two () => (float[2] t) { t = Abs (x) }
      >
      z = If (sr) <
        then_branch = three () => (float[2] t) {
          a = Log (x)
          t = If (c) <
            then_branch = four () => (float[2] v) { v = Exp (a) },
            else_branch = five () => (float[2] a) { a = Log (x) }
          >
        },
        else_branch = six () => (float[2] t) { t = Abs (x) }
      >
    })");
  CHECK(twice.nodes == "Neg(x) -> a_2\nExp(a_2) -> y\nLog(x) -> a_3\nIf(c, a_3, x) -> z\n");
}

TEST_CASE("Results that a branch does not make, or gives twice, are copied") {
  const Read copied = read_at("1", R"(
    g (float[2] x, bool sr) => (float[2] y, float[2] z, float[2] w) {
      y, z, w = If (sr) <
        then_branch = one () => (float[2] t, float[2] t2, float[2] x2) {
          t = Neg (x)  t2 = Identity (t) x2 = Identity (x)
        },
        else_branch = two () => (float[2] e, float[2] f, float[2] h) {
          e = Abs (x) f = Abs (x) h = Abs (x)
        }
      >
    })");
  CHECK(copied.nodes == "Neg(x) -> y\nIdentity(y) -> z\nIdentity(x) -> w\n");
  const SourceFile source =
      onnx_file(R"(
    g (float[2] x, bool sr) => (float[2] y, float[2] z) {
      y, z = If (sr) <
        then_branch = one () => (float[2] t, float[2] u) { t = Neg (x) u = Neg (x) },
        else_branch = two () => (float[2] e, float[2] f) { e = Abs (x) f = Abs (x) }
      >
    })",
                [](onnx::ModelProto& model) {
                  auto* const branch =
                      model.mutable_graph()->mutable_node(0)->mutable_attribute(0)->mutable_g();
                  branch->mutable_output(1)->set_name(branch->output(0).name());
                  branch->mutable_node()->RemoveLast();
                });
  ShapeBindings bindings;
  bindings.values = {{"sr", "1"}};
  const auto loaded = read_onnx(source, bindings);
  REQUIRE(loaded);
  CHECK(node_line(loaded->graph, loaded->graph.nodes()[1]) == "Identity(y) -> z");
}

TEST_CASE("A weight of a branch becomes one of the graph, unless its name is taken") {
  constexpr const char* kWeighted = R"(
    g (float[2] x, bool sr) => (float[2] y, float[2] z) {
      y = If (sr) <
        then_branch = one () => (float[2] t) <float[2] w = {1, 2}> { t = Add (x, w) },
        else_branch = two () => (float[2] e) { e = Abs (x) }
      >
      z = If (sr) <
        then_branch = three () => (float[2] t) <float[2] w = {3, 4}> { t = Mul (x, w) },
        else_branch = four () => (float[2] e) { e = Abs (x) }
      >
    })";
  const Read weighted = read_at("1", kWeighted);
  CHECK(weighted.nodes == "If(sr, x) -> y\nIf(sr, x) -> z\n");
  CHECK(weighted.notes.at(0) ==
        "node 0 (If) always takes its then_branch, but stays: a weight of its branch has the "
        "name of another value");
}

constexpr const char* kShaped = R"(
  g (float[2, 3, 4] x) => (float[6, 4] y) <int64[1] last = {2}, int64[1] minus = {-1}> {
    s = Shape (x)
    n = Gather (s, last)
    shape = Concat <axis = 0> (minus, n)
    a = Neg (x)
    y = Reshape (a, shape)
  })";

TEST_CASE("What is known becomes a constant only with --fold write") {
  CHECK(read(kShaped, {}).nodes ==
        "Shape(x) -> s\nGather(s, last) -> n\nConcat(minus, n) -> shape\nNeg(x) -> a\n"
        "Reshape(a, shape) -> y\n");
  ShapeBindings bindings;
  bindings.folding = Folding::write;
  const Read written = read(kShaped, bindings);
  CHECK(written.nodes == "Neg(x) -> a\nReshape(a, shape) -> y\n");
  CHECK(written.notes.at(0) ==
        "3 nodes have results that are known: they are constants here and in what is written");
}

TEST_CASE("With --fold off what computes a constant is a node, and what states one is none") {
  constexpr const char* kTurned = R"(
    g (float[2, 3] x) => (float[2, 2] y) <float[2, 3] w = {1, 2, 3, 4, 5, 6}> {
      t = Transpose (w)
      c = Constant <value = float {2}> ()
      a = MatMul (x, t)
      y = Mul (a, c)
    })";
  CHECK(read(kTurned, {}).nodes == "MatMul(x, t) -> a\nMul(a, c) -> y\n");
  ShapeBindings bindings;
  bindings.folding = Folding::off;
  CHECK(read(kTurned, bindings).nodes == "Transpose(w) -> t\nMatMul(x, t) -> a\nMul(a, c) -> y\n");
}

TEST_CASE("What STFT depends on becomes no constant, for its schema would infer a wrong shape") {
  ShapeBindings bindings;
  bindings.folding = Folding::write;
  const Read spectra = read(R"(
    g (float[1, 64, 1] x, float[16] w) => (float[1, 7, 9, 2] y, int64 n) <int64 step = {8}> {
      length = Size (w)
      y = STFT <onesided = 1> (x, step, w, length)
      n = Size (x)
    })",
                            bindings);
  CHECK(spectra.nodes == "Size(w) -> length\nSTFT(x, step, w, length) -> y\n");
  CHECK(spectra.notes.at(1) ==
        "1 node has a result that is known: they are constants here and in what is written");
  CHECK(spectra.notes.at(0) ==
        "1 node with a known result stays: ONNX infers a wrong shape of STFT, which depends on it, "
        "once those of its inputs are known");
}

TEST_CASE("What STFT depends on becomes a constant where the length of its signal is open") {
  ShapeBindings bindings;
  bindings.folding = Folding::write;
  const Read spectra = read(R"(
    g (float[1, N, 1] x, float[16] w) => (float[1, M, 9, 2] y) <int64 step = {8}> {
      length = Size (w)
      y = STFT <onesided = 1> (x, step, w, length)
    })",
                            bindings);
  CHECK(spectra.nodes == "STFT(x, step, w, length) -> y\n");
}

TEST_CASE("Results of which a part is unknown do not become constants") {
  ShapeBindings bindings;
  bindings.folding = Folding::write;
  const Read partly = read(R"(
    g (float[2, N] x) => (int64[2] s, float[2] r) {
      s = Shape (x)
      i = Shape <end = 1> (x)
      n = Neg (x)
      r = ReduceSum <keepdims = 0> (n, i)
    })",
                           bindings);
  CHECK(partly.nodes == "Shape(x) -> s\nNeg(x) -> n\nReduceSum(n, i) -> r\n");
}

TEST_CASE("Reals do not become constants: a runtime may round them differently") {
  ShapeBindings bindings;
  bindings.folding = Folding::write;
  bindings.values = {{"gain", "0.5"}};
  const Read real = read(R"(
    g (float[2] x, float gain) => (float[2] y) {
      h = Sqrt (gain)
      y = Mul (x, h)
    })",
                         bindings);
  CHECK(real.nodes == "Sqrt(gain) -> h\nMul(x, h) -> y\n");
}

}  // namespace

}  // namespace cleave
