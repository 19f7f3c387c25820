#include "formats/models/onnx/index/attributes.h"

#include <cstring>

#include "formats/models/onnx/index/fields.h"

namespace cleave {
namespace {

// The type for a number of AttributeProto.AttributeType.
AttributeType type_of(std::int32_t number) {
  switch (number) {
    case attribute_type::kFloat:
      return AttributeType::real;
    case attribute_type::kInt:
      return AttributeType::integer;
    case attribute_type::kString:
      return AttributeType::string;
    case attribute_type::kFloats:
      return AttributeType::reals;
    case attribute_type::kInts:
      return AttributeType::integers;
    case attribute_type::kStrings:
      return AttributeType::strings;
    default:
      return AttributeType::opaque;
  }
}

void append_packed_reals(std::string_view packed, std::vector<double>& out) {
  for (; packed.size() >= sizeof(float); packed.remove_prefix(sizeof(float))) {
    float real = 0;
    std::memcpy(&real, packed.data(), sizeof real);
    out.push_back(static_cast<double>(real));
  }
}

void decode_field(OnnxFields& field, OnnxAttributeValue& out) {
  switch (field.key()) {
    case varint_field(attribute_field::kInt):
    case varint_field(attribute_field::kInts):
      out.integers.push_back(field.number());
      break;
    case bytes_field(attribute_field::kInts):
      field.append_packed(out.integers);
      break;
    case float_field(attribute_field::kFloat):
    case float_field(attribute_field::kFloats):
      out.reals.push_back(static_cast<double>(field.real()));
      break;
    case bytes_field(attribute_field::kFloats):
      append_packed_reals(field.text(), out.reals);
      break;
    case bytes_field(attribute_field::kString):
    case bytes_field(attribute_field::kStrings):
      out.strings.push_back(field.text());
      break;
    default:
      field.skip();
  }
}

// A scalar has one element, the last in the file; 0 or "" if there is none.
template <class T>
void keep_last(std::vector<T>& elements) {
  if (elements.empty()) elements.emplace_back();
  elements.erase(elements.begin(), elements.end() - 1);
}

}  // namespace

void decode_onnx_attribute(const OnnxAttribute& attribute, OnnxAttributeValue& out) {
  out.type = AttributeType::opaque;
  out.integers.clear();
  out.reals.clear();
  out.strings.clear();
  if (!attribute.reference.empty()) return;
  out.type = type_of(attribute.type);
  OnnxWalk walk{.begin = attribute.record.payload.data()};
  for (OnnxFields field(attribute.record.payload, "an attribute", walk); field.next();) {
    decode_field(field, out);
  }
  if (out.type == AttributeType::integer) keep_last(out.integers);
  if (out.type == AttributeType::real) keep_last(out.reals);
  if (out.type == AttributeType::string) keep_last(out.strings);
}

OnnxAttributeValue decode_onnx_attribute(const OnnxAttribute& attribute) {
  OnnxAttributeValue out;
  decode_onnx_attribute(attribute, out);
  return out;
}

}  // namespace cleave
