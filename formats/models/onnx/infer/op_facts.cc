// Facts from the ONNX library's schema registry. It knows opsets up to 17 of the default domain;
// for a later one its newest schema is used.
#include "formats/models/onnx/infer/op_facts.h"

#include <onnx/defs/schema.h>

#include <string>

#include "formats/models/onnx/infer/schemas.h"

namespace cleave {
namespace {

std::optional<AttributeValue> value_of(const onnx::AttributeProto& attribute) {
  using Attribute = onnx::AttributeProto;
  std::vector<Literal> list;
  switch (attribute.type()) {
    case Attribute::INT:
      return attribute.i();
    case Attribute::FLOAT:
      return double{attribute.f()};
    case Attribute::STRING:
      return attribute.s();
    case Attribute::INTS:
      for (const std::int64_t item : attribute.ints()) list.emplace_back(item);
      return list;
    case Attribute::FLOATS:
      for (const float item : attribute.floats()) list.emplace_back(double{item});
      return list;
    case Attribute::STRINGS:
      for (const std::string& item : attribute.strings()) list.emplace_back(item);
      return list;
    default:
      return std::nullopt;
  }
}

std::optional<AttributeValue> default_attribute(std::string_view domain, std::string_view op,
                                                std::int64_t opset, std::string_view attribute) {
  const onnx::OpSchema* const schema = find_onnx_schema(domain, op, opset);
  if (schema == nullptr) return std::nullopt;
  const auto found = schema->attributes().find(std::string(attribute));
  if (found == schema->attributes().end()) return std::nullopt;
  return value_of(found->second.default_value);
}

std::int64_t schema_version(std::string_view domain, std::string_view op, std::int64_t opset) {
  const onnx::OpSchema* const schema = find_onnx_schema(domain, op, opset);
  return schema == nullptr ? 0 : schema->SinceVersion();
}

}  // namespace

OpFacts onnx_op_facts() { return {default_attribute, schema_version, nullptr}; }

}  // namespace cleave
