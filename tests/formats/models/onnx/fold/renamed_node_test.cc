#include "formats/models/onnx/fold/renamed_node.h"

#include "formats/models/onnx/index/index.h"
#include "tests/catch2.h"
#include "tests/formats/models/onnx/onnx_text.h"

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

}  // namespace
}  // namespace cleave
