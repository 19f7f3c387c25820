#include "formats/models/onnx/view/equal_values.h"

#include "formats/models/onnx/read/reader.h"
#include "tests/catch2.h"
#include "tests/formats/models/onnx/onnx_text.h"

namespace cleave {
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

}  // namespace cleave
