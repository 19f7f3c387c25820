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

TEST_CASE("the opset of a domain is found under either of its names") {
  const Graph graph = graph_from_text("opset \"ai.onnx\" 13\n opset \"ml\" 2\n input x\n a = f(x)");
  CHECK(imported_opset(graph, "") == 13);
  CHECK(imported_opset(graph, "ai.onnx") == 13);
  CHECK(imported_opset(graph, "ml") == 2);
  CHECK_FALSE(imported_opset(graph, "other"));
}

}  // namespace

}  // namespace cleave
