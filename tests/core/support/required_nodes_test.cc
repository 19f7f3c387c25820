#include "core/support/required_nodes.h"

#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"

namespace cleave {
namespace {

const Graph& sample() {
  static const Graph kGraph = graph_from_text(R"(
    input x
    a1 = Conv(x)
    b = aten.conv2d.default(a1)
    c = com.microsoft::Gelu(b)
    i = If(c)
    | a2 = Conv(x)
    | d = Mul(x)
    a3 = Conv(i)
    output a3)");
  return kGraph;
}

std::string required(const std::string& pattern) {
  return names_of(sample(), RequiredNodes(sample()).of(pattern));
}

TEST_CASE(
    "a requirement is a name, an op, or a glob of either, of the node or of one in its body") {
  CHECK(required("a1") == "a1");
  CHECK(required("a2") == "i");
  CHECK(required("d") == "i");
  CHECK(required("Conv") == "a1 i a3");
  CHECK(required("a?") == "a1 i a3");
  CHECK(required("C*v") == "a1 i a3");
  CHECK(required("Mul") == "i");
  CHECK(required("[bc]") == "");
  CHECK(required("conv") == "");
  CHECK(required("*").size() == std::string("a1 b c i a3").size());
}

TEST_CASE("a requirement with a domain is met by ops of that domain alone") {
  CHECK(required("Gelu") == "c");
  CHECK(required("com.microsoft::Gelu") == "c");
  CHECK(required("com.microsoft::G*") == "c");
  CHECK(required("other::Gelu") == "");
  CHECK(required("com.microsoft::Conv") == "");
  CHECK(required("ai.onnx::Conv") == "a1 i a3");
  CHECK(required("com.*::*") == "c");
  CHECK(required("*::Gelu") == "c");
  CHECK(required("*::*") == required("*"));
}

TEST_CASE("an op of torch is required by any of its spellings") {
  CHECK(required("aten.conv2d.default") == "b");
  CHECK(required("aten.conv2d*") == "b");
}

}  // namespace
}  // namespace cleave
