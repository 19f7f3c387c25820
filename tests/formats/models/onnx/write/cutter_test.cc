#include "formats/models/onnx/write/cutter.h"

#include "formats/models/model_file.h"

#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"
#include "tests/formats/base/io/test_folder.h"
#include "tests/formats/models/onnx/onnx_text.h"
#include "tests/formats/models/onnx/write/split_text.h"

namespace cleave {
namespace {

const char* const kModel = R"(
g (float[N, 2] x) => (float[N, 2] y) <float[2] w = {1.5, 2}, float[2] v = {3, 4}> {
  t = Relu (x)
  u = Add (t, w)
  s = Mul (u, v)
  y = Neg (s)
})";

// Each node is called "n_" and its output.
std::string with_node_names(const std::string& graph) {
  return onnx_model(graph, [](onnx::ModelProto& model) {
    for (auto& node : *model.mutable_graph()->mutable_node()) node.set_name("n_" + node.output(0));
  });
}

// "in: x; weights: w; Relu(x) Add(t w); out: u"
std::string describe_model(const std::string& bytes) {
  const onnx::ModelProto model = parsed(bytes);
  std::string text = "in:";
  for (const auto& input : model.graph().input()) text += " " + input.name();
  text += "; weights:";
  for (const auto& weight : model.graph().initializer()) text += " " + weight.name();
  text += ";";
  for (const auto& node : model.graph().node()) {
    text += " " + node.op_type() + "(";
    for (const auto& input : node.input()) text += (text.back() == '(' ? "" : " ") + input;
    text += ")";
  }
  text += "; out:";
  for (const auto& output : model.graph().output()) text += " " + output.name();
  return text;
}

class Cut {
 public:
  explicit Cut(const std::string& bytes)
      : model_(*read_model(folder_.with_file("m.onnx", bytes), {})),
        cutter_(*OnnxCutter::open(model_)) {}

  std::string operator()(std::initializer_list<const char*> names) {
    std::vector<NodeId> nodes;
    for (const char* const name : names) nodes.push_back(node_named(model_.graph, name));
    const std::string path = folder_.path("piece.onnx");
    const auto piece = cutter_.write(nodes, {path, path});
    REQUIRE(piece);
    return describe_model(folder_.content("piece.onnx"));
  }

 private:
  TestFolder folder_;
  LoadedModel model_;
  OnnxCutter cutter_;
};

TEST_CASE("One cutter writes several pieces, each with only what it needs") {
  Cut cut(with_node_names(kModel));
  CHECK(cut({"n_u", "n_s"}) == "in: t; weights: w v; Add(t w) Mul(u v); out: s");
  CHECK(cut({"n_t"}) == "in: x; weights:; Relu(x); out: t");
  CHECK(cut({"n_s", "n_y"}) == "in: u; weights: v; Mul(u v) Neg(s); out: y");
  CHECK(cut({"n_u", "n_s"}) == "in: t; weights: w v; Add(t w) Mul(u v); out: s");
}

TEST_CASE("A piece whose values are not read outputs what its last node makes") {
  Cut cut(with_node_names(R"(
g (float[2] x) => (float[2] y) {
  y = Relu (x)
  z = Neg (x)
})"));
  CHECK(cut({"n_z"}) == "in: x; weights:; Neg(x); out: z");
}

TEST_CASE("A cutter refuses a folder from which no runtime follows references") {
  const TestFolder folder;
  const TestFolder other;
  const std::string big = R"(
g (float[2] x) => (float[2] y) { y = Relu (x) })";
  const auto bytes = onnx_model(big, [](onnx::ModelProto& model) {
    auto* weight = model.mutable_graph()->add_initializer();
    weight->set_name("w");
    weight->set_data_type(onnx::TensorProto::FLOAT);
    weight->add_dims(1024);
    weight->set_raw_data(std::string(4096, '\0'));
  });
  const auto model = read_model(folder.with_file("m.onnx", bytes), {});
  REQUIRE(model);
  CHECK(OnnxCutter::open(*model, RootWeights::reference, folder.path(".")));
  const auto refused = OnnxCutter::open(*model, RootWeights::reference, other.path("."));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().cause == FaultCause::output);
}

}  // namespace
}  // namespace cleave
