#include "formats/models/onnx/infer/schema.h"

#include <onnx/defs/schema.h>

#include <set>
#include <string>
#include <utility>

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

}  // namespace

}  // namespace cleave
