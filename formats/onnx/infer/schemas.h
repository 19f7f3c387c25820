// Schemas of the ONNX library, each made when it is first asked for. The library's own registry
// makes all of them at once, some hundred versions of operators that no model has, which takes
// longer than all that is done with a small model.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace onnx {
class OpSchema;
}

namespace cleave {

// One version of an operator; cmake finds them in the library's headers.
struct OnnxSchemaEntry {
  std::string_view domain, op;
  int since = 0;
  onnx::OpSchema (*make)() = nullptr;
};
std::span<const OnnxSchemaEntry> onnx_schema_entries();  // in no order

// The operator's schema in that opset, the newest that is no newer; null when there is none.
const onnx::OpSchema* find_onnx_schema(std::string_view domain, std::string_view op,
                                       std::int64_t opset);

}  // namespace cleave
