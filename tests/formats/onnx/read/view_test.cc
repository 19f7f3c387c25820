#include "core/lists/support.h"
#include "core/measures/measures.h"
#include "formats/onnx/infer/infer.h"
#include "formats/onnx/read/reader.h"
#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"
#include "tests/formats/base/graph_description.h"
#include "tests/formats/onnx/read/onnx_text.h"

namespace cleave {

// ---- equal values test ----

namespace {

// "c: a" for each value that is equal to another, in the order of values.
std::string equal_in(const std::string& text) {
  SourceFile source = onnx_file(text);
  auto loaded = read_onnx(source, {});
  if (!loaded) FAIL(format_diagnostic(loaded.error().front()));
  const LoadedModel model{std::move(source), OnnxOrigin{std::move(loaded->model)}, loaded->graph};
  const std::vector<ValueId> same = equal_values(model.graph, *model.onnx());
  std::string out;
  for (std::size_t i = 0; i < same.size(); ++i) {
    if (index(same[i]) == i) continue;
    out += std::string(model.graph.value(id_at<ValueId>(i)).name) + ": " +
           std::string(model.graph.value(same[i]).name) + '\n';
  }
  return out;
}

// "r: q", the node that ONNX Runtime keeps for one that it removes, by the values that they make.
std::string removed_in(const std::string& text) {
  SourceFile source = onnx_file(text);
  auto loaded = read_onnx(source, {});
  if (!loaded) FAIL(format_diagnostic(loaded.error().front()));
  const Graph& graph = loaded->graph;
  const PerNode<NodeId> kept = kept_nodes(graph, equal_values(graph, *loaded->model));
  const auto name = [&](NodeId node) {
    return std::string(graph.value(graph.outputs(node)[0]).name);
  };
  std::string out;
  for (const NodeId node : graph.nodes()) {
    if (kept[node] != node) out += name(node) + ": " + name(kept[node]) + '\n';
  }
  return out;
}

}  // namespace

TEST_CASE("Equal nodes with equal inputs give equal values, one after the other") {
  CHECK(equal_in(R"(
g (float[2, 3] x) => (float[2, 3] y) {
  a = Neg (x)
  b = Neg (x)
  c = Abs (a)
  d = Abs (b)
  e = Identity (d)
  y = Sum (c, d, e)
})") == "b: a\nd: c\ne: c\n");
}

TEST_CASE("Nodes that differ in an attribute, in their inputs or by chance are equal to none") {
  CHECK(equal_in(R"(
g (float[2, 3] x) => (float[2, 3] y) {
  a = LeakyRelu <alpha = 0.1> (x)
  b = LeakyRelu <alpha = 0.2> (x)
  c = Add (a, b)
  d = Add (b, a)
  e = RandomNormalLike (x)
  f = RandomNormalLike (x)
  y = Sum (c, d, e, f)
})")
            .empty());
}

TEST_CASE("An attribute that states its default is as one that is not stated") {
  CHECK(equal_in(R"(
g (float[2, 3] x) => (float[2, 3] y) {
  a = LeakyRelu (x)
  b = LeakyRelu <alpha = 0.01> (x)
  y = Sum (a, b)
})") == "b: a\n");
}

TEST_CASE("A node that makes an output of the model stays, and stands for no other") {
  CHECK(removed_in(R"(
g (float[2] x) => (float[2] y, float[2] z) {
  y = Exp (x)
  a = Exp (x)
  b = Exp (x)
  c = Neg (y)
  d = Neg (b)
  z = Sum (a, c, d)
})") == "b: a\nd: c\n");
  CHECK(removed_in(R"(
g (float[4] x) => (float[2] z) {
  a, b = Split <axis = 0> (x)
  c, d = Split <axis = 0> (x)
  z = Sum (a, b, c, d)
})") == "c: a\n");
}

TEST_CASE("Small weights are equal by their elements, those of more than eight are not compared") {
  CHECK(equal_in(R"(
g (float[9] x) => (float[9] y)
<float[9] w = {2, 2, 2, 2, 2, 2, 2, 2, 2}, float[9] v = {2, 2, 2, 2, 2, 2, 2, 2, 2}> {
  a = Mul (x, w)
  b = Mul (x, v)
  y = Sum (a, b)
})")
            .empty());
  CHECK(equal_in(R"(
g (float[2, 3] x) => (float[2, 3] y)
<float[1] w = {2}, float[1] v = {2}, float[1] u = {3}> {
  a = Mul (x, w)
  b = Mul (x, v)
  c = Mul (x, u)
  y = Sum (a, b, c)
})") == "v: w\nb: a\n");
}

// ---- runtime view test ----

namespace {

// The source outlives the graph, whose names are views into it.
struct Read {
  SourceFile source;
  OnnxLoaded loaded;
  OpFacts facts;
  const Graph& graph() const { return loaded.graph; }
};

Read read(const std::string& text) {
  SourceFile source = onnx_file(text);
  auto loaded = read_onnx(source, {});
  if (!loaded) FAIL(format_diagnostic(loaded.error().front()));
  OpFacts facts = onnx_op_facts();
  add_runtime_view(facts, loaded->model.get());
  return {std::move(source), *std::move(loaded), std::move(facts)};
}

// `b: a`, a line for each node that becomes a part of another, or is removed.
std::string hosts_of(const Read& read) {
  std::string text;
  for (const NodeId node : read.graph().nodes()) {
    const NodeId host = read.facts.runtime_host(read.graph(), node);
    if (host == kNone<NodeId>) continue;
    text += std::string(read.graph().node(node).name) + ": " +
            std::string(read.graph().node(host).name) + '\n';
  }
  return text;
}

std::string accepted(const Read& read, std::initializer_list<const char*> ops,
                     GraphView view = GraphView::onnxruntime) {
  SupportList list;
  list.view = view;
  for (const char* op : ops) {
    Rule rule;
    rule.op = op;
    list.allow.push_back(std::move(rule));
  }
  return names_of(read.graph(), match_support(read.graph(), {list}, read.facts).supported);
}

constexpr const char* kConvNorm = R"(
g (float[1, 1, 4, 4] x) => (float[1, 1, 4, 4] y)
<float[1, 1, 1, 1] w = {1}, float[1] s = {1}> {
  c = Conv (x, w)
  n = BatchNormalization (c, s, s, s, s)
  y = Relu (n)
})";

TEST_CASE("a BatchNormalization becomes part of the Conv before it, and is judged as that") {
  const Read model = read(kConvNorm);
  CHECK(hosts_of(model) == "BatchNormalization_1: Conv_0\n");
  CHECK(accepted(model, {"Conv"}) == "Conv_0 BatchNormalization_1");
  CHECK(accepted(model, {"Conv"}, GraphView::model) == "Conv_0");
  CHECK(accepted(model, {"BatchNormalization"}).empty());
}

TEST_CASE("a BatchNormalization stays where the Conv has another reader or weights that change") {
  CHECK(hosts_of(read(R"(
g (float[1, 1, 4, 4] x) => (float[1, 1, 4, 4] y, float[1, 1, 4, 4] c)
<float[1, 1, 1, 1] w = {1}, float[1] s = {1}> {
  c = Conv (x, w)
  y = BatchNormalization (c, s, s, s, s)
})"))
            .empty());
  CHECK(hosts_of(read(R"(
g (float[1, 1, 4, 4] x, float[1, 1, 1, 1] w) => (float[1, 1, 4, 4] y)
<float[1] s = {1}> {
  c = Conv (x, w)
  y = BatchNormalization (c, s, s, s, s)
})"))
            .empty());
}

TEST_CASE("what is removed goes with the node that makes its input, or that reads its output") {
  const Read model = read(R"(
g (float[4] x) => (float[4] y) {
  i = Identity (x)
  a = Relu (i)
  j = Identity (a)
  k = Dropout (j)
  y = Exp (k)
})");
  CHECK(hosts_of(model) == "Identity_0: Relu_1\nIdentity_2: Relu_1\nDropout_3: Relu_1\n");
  CHECK(accepted(model, {"Relu"}) == "Identity_0 Relu_1 Identity_2 Dropout_3");
  CHECK(accepted(model, {"Exp"}) == "Exp_4");
  CHECK(hosts_of(read("g (float[4] x) => (float[4] y) { y = Identity (x) }")).empty());
}

TEST_CASE("of equal nodes the first stays, and the others are judged as it") {
  const Read model = read(R"(
g (float[4] x) => (float[4] y) {
  a = Exp (x)
  b = Exp (x)
  c = Neg (b)
  y = Sum (a, b, c)
})");
  CHECK(hosts_of(model) == "Exp_1: Exp_0\n");
  CHECK(accepted(model, {"Exp"}) == "Exp_0 Exp_1");
}

TEST_CASE(
    "equal nodes with computed weights are merged before a BatchNormalization is, others after "
    "it") {
  const std::string nodes = R"(
  c = Conv (x, w)
  d = Conv (x, v)
  m = BatchNormalization (c, s, s, s, s)
  n = BatchNormalization (d, t, t, t, t)
  y = Sum (m, n)
})";
  const std::string head = "g (float[1, 1, 4, 4] x) => (float[1, 1, 4, 4] y)\n";
  const std::string stored =
      head +
      "<float[1, 1, 1, 1] w = {1}, float[1, 1, 1, 1] v = {1}, float[1] s = {1}, "
      "float[1] t = {2}> {" +
      nodes;
  CHECK(hosts_of(read(stored)) ==
        "Conv_1: Conv_0\nBatchNormalization_2: Conv_0\nBatchNormalization_3: Conv_0\n");
  const std::string computed = head +
                               "<int64[4] k = {1, 1, 1, 1}, float[1] s = {1}, float[1] t = {2}> {\n"
                               "w = ConstantOfShape (k)\nv = ConstantOfShape (k)" +
                               nodes;
  CHECK(hosts_of(read(computed)) == "Conv_3: Conv_2\n");  // which two others read
}

// `nodes accepted partitions` of the runtime's graph.
std::string groups_of(const Read& read, std::initializer_list<const char*> ops) {
  SupportList list;
  list.view = GraphView::onnxruntime;
  for (const char* op : ops) {
    Rule rule;
    rule.op = op;
    list.allow.push_back(std::move(rule));
  }
  const std::vector<SupportList> lists = {list};
  const NodeSet supported = match_support(read.graph(), lists, read.facts).supported;
  const auto groups = runtime_groups(read.graph(), supported, lists, read.facts);
  if (!groups) return "none";
  return std::to_string(groups->nodes) + ' ' + std::to_string(groups->accepted) + ' ' +
         std::to_string(groups->partitions);
}

TEST_CASE("the runtime's partitions are counted as it groups them") {
  // b waits for the end of the first group, as it reads of it; c is ready before.
  const Read model = read(R"(
g (float[4] x) => (float[4] y, float[4] z) {
  c = Sin (x)
  a = Relu (x)
  b = Sin (a)
  y = Relu (b)
  z = Relu (c)
})");
  CHECK(groups_of(model, {"Relu"}) == "5 3 2");
  CHECK(groups_of(model, {"Relu", "Sin"}) == "5 5 1");
  CHECK(groups_of(model, {"Tan"}) == "5 0 0");
}

TEST_CASE("what the runtime merges, removes, computes or replaces counts as it is there") {
  const Read model = read(R"(
g (float[4] x, float[N] u) => (float[4] y, int64[1] z) {
  a = Identity (x)
  s = Shape (a)
  b = Reshape (x, s)
  c = HardSwish (b)
  d = HardSwish (b)
  y = Sum (c, d)
  z = Shape (u)
})");
  // Reshape, HardSigmoid, Mul, Sum and the Shape that is not known.
  CHECK(groups_of(model, {"Reshape", "HardSigmoid", "Mul", "Sum"}) == "5 4 1");
  CHECK(groups_of(model, {"Reshape", "Mul", "Sum"}) == "5 3 2");
}

TEST_CASE("an operator with a body and no rule is judged by its body") {
  const Read model = read("g (float[4] x) => (float[4] y) { y = HardSwish (x) }");
  CHECK(accepted(model, {"HardSigmoid", "Mul"}) == "HardSwish_0");
  CHECK(accepted(model, {"HardSigmoid", "Mul"}, GraphView::model).empty());
  CHECK(accepted(model, {"HardSwish"}) == "HardSwish_0");
  SupportList list;
  list.view = GraphView::onnxruntime;
  list.allow.resize(1);
  list.allow[0].op = "HardSigmoid";
  const Reason reason = match_node(model.graph(), NodeId{0}, std::vector{list}, model.facts);
  CHECK(reason.code == ReasonCode::runtime_graph);
  CHECK(reason.rule == 1);
}

TEST_CASE("a body has the types, the shapes and the attributes of the node") {
  const Read model = read("g (float16[N, 4] x) => (float16[N, 4] y) { y = HardSwish (x) }");
  const auto body = onnx_function_body(model.graph(), NodeId{0}, model.facts);
  REQUIRE(body);
  CHECK(described(body->graph) ==
        R"(input X: float16[N, 4]
node HS_X = HardSigmoid(0:X )
  alpha real 0.166667
  beta real 0.5
  -> HS_X: float16[N, 4]
node Y = Mul(0:X 1:HS_X )
  -> Y: float16[N, 4]
output Y
)");
}

TEST_CASE("a CastLike is a Cast, and other operators have no body") {
  const Read cast = read("g (float[4] x, int64[1] t) => (int64[4] y) { y = CastLike (x, t) }");
  const auto body = onnx_function_body(cast.graph(), NodeId{0}, cast.facts);
  REQUIRE(body);
  CHECK(described(body->graph).find("to integer 7") != std::string::npos);
  const Read relu = read("g (float[4] x) => (float[4] y) { y = Relu (x) }");
  CHECK_FALSE(onnx_function_body(relu.graph(), NodeId{0}, relu.facts));
}

TEST_CASE("each text of a body is read, and a body may have operators with bodies") {
  for (const FunctionText& text : function_texts()) {
    CAPTURE(text.op, text.version);
    const bool is_binary = text.inputs == "A B";
    GraphBuilder builder;
    builder.add_opset("", text.version);
    const ValueDecl x{.name = "x", .type = ValueType::tensor, .dtype = DType::float32};
    builder.add_input(x, {});
    builder.add_node({.name = "n", .op = text.op});
    builder.add_operand(builder.value_named("x"), OperandSlot::positional(0));
    if (is_binary) builder.add_operand(builder.value_named("x"), OperandSlot::positional(1));
    ValueDecl y = x;
    y.name = "y";
    builder.add_graph_output(builder.add_output(y, 0), {});
    auto graph = builder.finish();
    REQUIRE(graph);
    OpFacts facts = onnx_op_facts();
    add_runtime_view(facts);
    const auto body = onnx_function_body(*graph, NodeId{0}, facts);
    REQUIRE(body);
    CHECK(body->graph.node_count() >= 2);
    SupportList list;
    list.view = GraphView::onnxruntime;
    for (const char* op : {"HardSigmoid", "Mul", "Sigmoid", "Softplus", "Tanh"}) {
      Rule rule;
      rule.op = op;
      list.allow.push_back(std::move(rule));
    }
    CHECK(match_support(*graph, {list}, facts).supported.contains(NodeId{0}));
  }
}

}  // namespace

}  // namespace cleave
