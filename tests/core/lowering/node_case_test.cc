#include "core/lowering/node_case.h"

#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"

namespace cleave {
namespace {

// The case of the node "a".
std::string case_of(const std::string& text) {
  const Graph graph = graph_from_text(text);
  return node_case(graph, node_named(graph, "a"));
}

constexpr const char* kInputs =
    "input x: float32[1,n,?]\n input u: int64\n param w: float32[3]\n input s: scalar\n";

TEST_CASE("a node's case has the types and shapes of its inputs, and which are constant") {
  CHECK(case_of(std::string(kInputs) + "a = Conv(x, w)") ==
        "Conv(0:float32[1,n,?], 1:const float32[3]) {} -> 1");
  CHECK(case_of(std::string(kInputs) + "a = F(u, s)") == "F(0:int64, 1:scalar) {} -> 1");
  CHECK(case_of(std::string(kInputs) + "a, b = F()") == "F() {} -> 2");
}

TEST_CASE("a node's case says how its inputs are given") {
  CHECK(case_of(std::string(kInputs) + "a = F([x, w], k=u, ^s)") ==
        "F(0*:float32[1,n,?], 0*:const float32[3], k=int64, ^scalar) {} -> 1");
}

TEST_CASE("a node's case has its attributes in the order of their names") {
  CHECK(case_of("input x: float32[1]\na = F(x) {p=2, k=[1,-2,3], m=\"s\", f=0.5}") ==
        "F(0:float32[1]) {f=[0.5] k=[1,-2,3] m=[\"s\"] p=[2]} -> 1");
}

TEST_CASE("a node with an opaque attribute or a body is a case of its own") {
  CHECK(case_of("input x: float32[1]\na = F(x) {p=2, body}") ==
        "F(0:float32[1]) {body= p=[2]} of \"a\" -> 1");
  CHECK(case_of("input x: float32[1]\na = F(x)\n| h = G(x)") == "F(0:float32[1]) {} of \"a\" -> 1");
}

TEST_CASE("a node's case has the opset of its domain") {
  CHECK(case_of("opset \"ml\" 3\nopset \"\" 17\ninput x: float32[1]\na = F(x)") ==
        "F@17(0:float32[1]) {} -> 1");
  CHECK(case_of("opset \"ml\" 3\nopset \"ai.onnx\" 16\ninput x: float32[1]\na = F(x)") ==
        "F@16(0:float32[1]) {} -> 1");
  CHECK(case_of("opset \"\" 17\nopset \"ml\" 3\ninput x: float32[1]\na = ml::F(x)") ==
        "ml::F@3(0:float32[1]) {} -> 1");
  CHECK(case_of("opset \"ai.onnx\" 17\ninput x: float32[1]\na = ml::F(x)") ==
        "ml::F(0:float32[1]) {} -> 1");
}

}  // namespace
}  // namespace cleave
