// The rules for common operators answer as the library's schemas do.

#include <random>
#include <string>
#include <vector>

#include "formats/onnx/infer/infer.h"
#include "formats/onnx/infer/rules.h"
#include "tests/catch2.h"

namespace cleave {

namespace {

using Random = std::mt19937;

std::size_t below(Random& random, std::size_t bound) { return random() % bound; }

OnnxDim random_dim(Random& random) {
  static const std::vector<OnnxDim> kDims = {{.size = 0, .name = {}},   {.size = 1, .name = {}},
                                             {.size = 1, .name = {}},   {.size = 2, .name = {}},
                                             {.size = 3, .name = {}},   {.size = -1, .name = "N"},
                                             {.size = -1, .name = "M"}, {}};
  return kDims[below(random, kDims.size())];
}

OnnxType random_type(Random& random) {
  if (below(random, 20) == 0) return {};
  OnnxType type = onnx_tensor_type(below(random, 2) == 0 ? DType::float32 : DType::int64);
  if (below(random, 10) == 0) return type;
  std::vector<OnnxDim> dims(below(random, 4));
  for (OnnxDim& dim : dims) dim = random_dim(random);
  if (below(random, 40) == 0) {
    dims.push_back({.size = std::int64_t{1} << 62, .name = {}});
    dims.push_back(dims.back());
  }
  type.set_shape(std::move(dims));
  return type;
}

std::string text_of(const OnnxType& type) {
  std::string text = std::to_string(static_cast<int>(type.dtype));
  if (!type.has_shape) return text + " of no known rank";
  for (const OnnxDim& dim : type.dims) {
    text += ' ' + (dim.is_fixed() ? std::to_string(dim.size) : '?' + dim.name);
  }
  return text;
}

TEST_CASE("a common operator's rule gives what its schema gives, or leaves it to the schema") {
  Random random(7);
  for (const OnnxShapeRuleEntry& entry : onnx_common_rules()) {
    std::size_t applied = 0;
    for (int i = 0; i < 1'000; ++i) {
      std::vector<OnnxType> types(1 + below(random, 3));
      std::vector<OnnxValueFacts> facts(types.size());
      std::vector<OnnxValueFacts*> inputs;
      for (std::size_t k = 0; k < types.size(); ++k) {
        types[k] = random_type(random);
        facts[k].type = &types[k];
        inputs.push_back(below(random, 30) == 0 ? nullptr : &facts[k]);
      }
      OnnxNode node;
      node.op_type = entry.op;
      node.outputs = {"y"};
      if (below(random, 20) == 0) node.attributes.emplace_back().name = "axis";
      const auto opset = static_cast<std::int64_t>(1 + below(random, 20));
      OnnxOpCall by_rule(node, opset, inputs, nullptr);
      if (!entry.rule(by_rule)) continue;
      ++applied;
      OnnxOpCall by_schema(node, opset, inputs, nullptr);
      const auto answer = infer_by_schema(by_schema, nullptr);
      CAPTURE(entry.op, opset, answer.why);
      for (const OnnxType& type : types) UNSCOPED_INFO(text_of(type));
      CHECK(answer.outcome == OnnxSchemaAnswer::Outcome::inferred);
      CHECK(text_of(by_rule.outputs[0]) == text_of(by_schema.outputs[0]));
      CHECK(by_rule.outputs == by_schema.outputs);
    }
    CAPTURE(entry.op);
    CHECK(applied > 20);
  }
}

}  // namespace

}  // namespace cleave
