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
