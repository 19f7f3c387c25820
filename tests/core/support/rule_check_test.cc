#include "core/support/rule_check.h"

#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"

namespace cleave {
namespace {

TypeSet float32() {
  TypeSet types;
  types.add(DType::float32);
  return types;
}

TEST_CASE("a name is for the default domain, or for the domains that it names") {
  const auto names = [](std::string_view name, std::string_view domain, std::string_view op) {
    return names_op(parse_op(name), domain, op);
  };
  CHECK(names("*", "", "Conv"));
  CHECK(names("*", "ai.onnx", "Conv"));
  CHECK(names("*", "tflite", "CONV_2D"));
  CHECK_FALSE(names("*", "com.microsoft", "Gelu"));
  CHECK_FALSE(names("Gelu", "com.microsoft", "Gelu"));
  CHECK(names("com.microsoft::Gelu", "com.microsoft", "Gelu"));
  CHECK(names("com.microsoft::*", "com.microsoft", "Gelu"));
  CHECK_FALSE(names("com.microsoft::*", "", "Gelu"));
  CHECK_FALSE(names("com.microsoft::*", "ai.onnx.ml", "Scaler"));
  for (const std::string_view every : {"*::*", "*::?elu"}) {
    CHECK(names(every, "", "Gelu"));
    CHECK(names(every, "com.microsoft", "Gelu"));
  }
  CHECK(names("*::Gelu", "com.microsoft", "Gelu"));
  CHECK(names("*::*", "", "torch.ops.aten.add.Tensor"));
  CHECK(names("*::*", "tflite.custom", "MINE"));
  CHECK(names("ai.onnx*::*", "", "Conv"));
  CHECK(names("ai.onnx*::*", "ai.onnx.ml", "Scaler"));
  CHECK_FALSE(names("ai.onnx.*::*", "", "Conv"));
}

TEST_CASE("names of torch are those of a domain, too") {
  const auto names = [](std::string_view name, std::string_view op) {
    return names_op(parse_op(name), "", op);
  };
  for (const std::string_view name :
       {"torch.ops.aten.add.Tensor", "torch.ops.aten.add", "aten.add.Tensor", "aten.add",
        "aten::add", "aten::add.Tensor", "torch.ops.aten::add", "aten::*", "aten.*", "*::add.*"}) {
    CHECK(names(name, "torch.ops.aten.add.Tensor"));
  }
  for (const std::string_view name : {"add", "aten::mul", "prims::*", "aten::add.Scalar"}) {
    CHECK_FALSE(names(name, "torch.ops.aten.add.Tensor"));
  }
  CHECK(names("aten::add", "aten::add"));  // a graph whose ops are called so
  CHECK(names("aten*", "aten::add"));
}

TEST_CASE("where no rule is written, a name without a domain is for every one") {
  CHECK(names_op_anywhere(parse_op("Gelu"), "com.microsoft", "Gelu"));
  CHECK_FALSE(names_op_anywhere(parse_op("ai.onnx::Gelu"), "com.microsoft", "Gelu"));
  CHECK_FALSE(names_op_anywhere(parse_op("com.microsoft::"), "com.microsoft", "Gelu"));
}

TEST_CASE("each failed condition is recorded with what is wanted and what is found") {
  const Graph graph = graph_from_text(R"(
    opset "ml" 2
    input x: int64[1,30,batch]
    a, b: scalar = ml::f(x, k=x) {n=2}
  )");
  Rule rule;
  rule.op = "f";
  rule.inputs = {float32()};
  rule.outputs = {std::nullopt, float32()};
  rule.kwargs = {{"k", float32()}};
  rule.attributes = {{"n", {}, 3.0, {}}, {"m", {}, 3.0, {}}};
  rule.shapes = {
      {.input = 0, .rank = 4, .is_static = true, .max_dim = 16, .multiple_of = {{1, 8}}}};
  rule.opset = OpsetRule{.lowest = 3, .highest = 4};
  const std::vector<FailedPart> wanted = {
      FailedType{FailedType::Place::input, 0, {}, float32(), ValueType::tensor, DType::int64},
      FailedType{FailedType::Place::output, 1, {}, float32(), ValueType::scalar, DType::unknown},
      FailedType{FailedType::Place::keyword, 0, "k", float32(), ValueType::tensor, DType::int64},
      FailedAttribute{rule.attributes[0], ValueOrigin::stated, AttributeValue(std::int64_t{2})},
      FailedAttribute{rule.attributes[1], ValueOrigin::absent, std::nullopt},
      FailedShape{0, WantedRank{4}, FoundRank{3}},
      FailedShape{0, WantedStatic{}, FoundDim{2, std::nullopt, "batch"}},
      FailedShape{0, WantedMaxDim{16}, FoundDim{1, 30, {}}},
      FailedShape{0, WantedMultiple{1, 8}, FoundDim{1, 30, {}}},
      FailedOpset{"ml", *rule.opset, 2}};
  CHECK(failed_parts(graph, node_named(graph, "a"), rule, {}) == wanted);
}

TEST_CASE("a rule that holds has no failed part") {
  const Graph graph = graph_from_text("input x\n a = f(x)");
  Rule rule;
  rule.inputs = {float32()};
  CHECK(failed_parts(graph, node_named(graph, "a"), rule, {}).empty());
}

}  // namespace

}  // namespace cleave
