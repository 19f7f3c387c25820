#include "formats/onnx/infer/infer.h"

#include <set>
#include <string>
#include <tuple>
#include <utility>

#include <onnx/defs/schema.h>

#include "formats/onnx/infer/rules.h"
#include "tests/catch2.h"

namespace cleave {

namespace {

std::string described(const onnx::OpSchema* schema) {
  if (schema == nullptr) return "none";
  std::string text =
      schema->domain() + "::" + schema->Name() + " of " + std::to_string(schema->SinceVersion()) +
      " takes " + std::to_string(schema->min_input()) + " to " +
      std::to_string(schema->max_input()) + ", gives " + std::to_string(schema->min_output()) +
      " to " + std::to_string(schema->max_output());
  for (const auto& [name, attribute] : schema->attributes()) text += ' ' + name;
  return text + (schema->has_type_and_shape_inference_function() ? ", infers" : "");
}

TEST_CASE("a schema that is made when it is asked for is the one of the library's registry") {
  std::set<std::pair<std::string, std::string>> ops;
  for (const onnx::OpSchema& schema : onnx::OpSchemaRegistry::get_all_schemas_with_history()) {
    ops.emplace(schema.domain(), schema.Name());
  }
  REQUIRE(ops.size() > 150);
  for (const auto& [domain, op] : ops) {
    for (int opset = 1; opset <= 20; ++opset) {
      CAPTURE(domain, op, opset);
      CHECK(described(find_onnx_schema(domain, op, opset)) ==
            described(onnx::OpSchemaRegistry::Schema(op, opset, domain)));
    }
  }
}

TEST_CASE("an operator without a schema in the library has none") {
  CHECK(find_onnx_schema("", "NoSuchOp", 17) == nullptr);
  CHECK(find_onnx_schema("com.microsoft", "Gelu", 1) == nullptr);
  CHECK(find_onnx_schema("ai.onnx.ml", "Relu", 3) == nullptr);
  CHECK(find_onnx_schema("", "LayerNormalization", 16) == nullptr);
  CHECK(find_onnx_schema("", "LayerNormalization", 999) != nullptr);
}

TEST_CASE("versions and defaults are those of the newest ONNX") {
  const OpFacts facts = onnx_op_facts();
  const auto version = [&](std::string_view op, std::int64_t opset) {
    return facts.schema_version("", op, opset);
  };
  CHECK(version("ReduceMax", 13) == 13);
  CHECK(version("ReduceMax", 17) == 13);
  CHECK(version("ReduceMax", 18) == 18);
  CHECK(version("ReduceMax", 999) == 20);
  CHECK(version("AveragePool", 18) == 11);
  CHECK(version("AveragePool", 19) == 19);
  CHECK(version("Relu", 28) == 14);
  CHECK(version("SwiGLU", 27) == 0);
  CHECK(version("SwiGLU", 28) == 28);
  CHECK(facts.schema_version("ai.onnx.ml", "TreeEnsemble", 5) == 5);
  CHECK(facts.schema_version("com.microsoft", "Gelu", 1) == 0);
  const auto value = [&](std::string_view op, std::int64_t opset, std::string_view attribute) {
    return facts.default_attribute("", op, opset, attribute);
  };
  CHECK(value("Gelu", 20, "approximate") == AttributeValue{"none"});
  CHECK(value("DequantizeLinear", 21, "block_size") == AttributeValue{std::int64_t{0}});
  CHECK_FALSE(value("DequantizeLinear", 19, "block_size"));
  CHECK(value("RMSNormalization", 23, "epsilon") == AttributeValue{double{1e-5F}});
  CHECK_FALSE(value("AveragePool", 22, "kernel_shape"));
  CHECK(value("Softmax", 13, "axis") == AttributeValue{std::int64_t{-1}});
}

TEST_CASE("the table of newer operators is sorted, and begins where the library ends") {
  const NewerOperator* before = nullptr;
  for (const NewerOperator& one : newer_operators()) {
    CAPTURE(one.op, one.version);
    if (before != nullptr) {
      CHECK(std::tuple(before->domain, before->op, before->version) <
            std::tuple(one.domain, one.op, one.version));
    }
    CHECK(one.version > (one.domain.empty() ? 17 : one.domain == "ai.onnx.ml" ? 3 : 0));
    CHECK(find_onnx_op(one.domain, one.op) != nullptr);
    before = &one;
  }
}

}  // namespace

}  // namespace cleave
