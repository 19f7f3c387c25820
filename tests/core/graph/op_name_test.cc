#include "core/graph/op_name.h"

#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"

namespace cleave {
namespace {

TEST_CASE("the default domain has two names, every other domain one") {
  CHECK(plain_domain("").empty());
  CHECK(plain_domain("ai.onnx").empty());
  CHECK(plain_domain("ai.onnx.ml") == "ai.onnx.ml");
}

TEST_CASE("the name of an operator has its domain before two colons") {
  const auto parts = [](std::string_view text) {
    const ParsedOp name = parse_op(text);
    return std::string(name.domain) + "|" + std::string(name.op) + (name.has_domain ? "|own" : "");
  };
  CHECK(parts("Conv") == "|Conv");
  CHECK(parts("com.microsoft::Gelu") == "com.microsoft|Gelu|own");
  CHECK(parts("ai.onnx::Conv") == "|Conv|own");
  CHECK(parts("*::*") == "*|*|own");
  CHECK(parts("a::b::c") == "a|b::c|own");
  CHECK(parts("a::") == "a||own");
  CHECK(parts("torch.ops.aten.add.Tensor") == "|torch.ops.aten.add.Tensor");
  CHECK(op_text("", "Conv") == "Conv");
  CHECK(op_text("com.microsoft", "Gelu") == "com.microsoft::Gelu");
}

TEST_CASE("the opset of a domain is found under either of its names") {
  const Graph graph = graph_from_text("opset \"ai.onnx\" 13\n opset \"ml\" 2\n input x\n a = f(x)");
  CHECK(imported_opset(graph, "") == 13);
  CHECK(imported_opset(graph, "ai.onnx") == 13);
  CHECK(imported_opset(graph, "ml") == 2);
  CHECK_FALSE(imported_opset(graph, "other"));
}

}  // namespace

}  // namespace cleave
