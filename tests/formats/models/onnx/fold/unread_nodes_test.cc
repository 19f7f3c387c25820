#include "formats/models/onnx/fold/unread_nodes.h"

#include "formats/models/onnx/index/index.h"
#include "tests/catch2.h"
#include "tests/formats/models/onnx/onnx_text.h"

namespace cleave {
namespace {

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

}  // namespace
}  // namespace cleave
