// The known types and shapes with each of --infer's modes.
#include "formats/models/model_file.h"
#include "formats/report/words/value_text.h"
#include "tests/catch2.h"
#include "tests/formats/models/onnx/write/split_text.h"

namespace cleave {
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
