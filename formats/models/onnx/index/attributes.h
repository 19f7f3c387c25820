// Values of attributes, decoded from their records on demand.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/graph/attribute.h"
#include "formats/models/onnx/index/model.h"

namespace cleave {

struct OnnxAttributeValue {
  // integer, real, string, or a list of them; opaque: a tensor, a graph, a type, a reference.
  AttributeType type = AttributeType::opaque;
  std::vector<std::int64_t> integers;
  std::vector<double> reals;
  std::vector<std::string_view> strings;
};

// The record was checked when the file was indexed: it is not refused here.
OnnxAttributeValue decode_onnx_attribute(const OnnxAttribute& attribute);
// Decodes into `out`, reusing its memory.
void decode_onnx_attribute(const OnnxAttribute& attribute, OnnxAttributeValue& out);

}  // namespace cleave
