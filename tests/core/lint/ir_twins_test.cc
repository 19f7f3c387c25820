#include "core/lint/ir_twins.h"

#include "tests/catch2.h"

namespace cleave {
namespace {

std::string twins_of(std::string_view op) {
  std::string text;
  for (const IrTwin& twin : ir_twins(op)) {
    text += (text.empty() ? "" : " ") + twin.op + (twin.is_decomposed ? "(decomposed)" : "");
  }
  return text;
}

TEST_CASE("A layer has other names after it is decomposed") {
  CHECK(twins_of("torch.ops.aten.linear.default") ==
        "aten.addmm(decomposed) aten.mm(decomposed) aten.linear_");
  CHECK(twins_of("torch.ops.aten.convolution.default").starts_with("aten.conv1d aten.conv2d"));
  CHECK(twins_of("torch.ops.aten.relu_.default") == "aten.relu(decomposed)");
  CHECK(twins_of("torch.ops.aten.relu.default") == "aten.relu_");
}

TEST_CASE("Operators of others, and those with underscores around, keep their names") {
  CHECK(twins_of("torch.ops.mylib.linear.default").empty());
  CHECK(twins_of("Conv").empty());
  CHECK(twins_of("torch.ops.aten.__and__.Tensor").empty());
}

}  // namespace
}  // namespace cleave
