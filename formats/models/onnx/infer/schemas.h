// Schemas of the ONNX library, each made when first asked for. The library's own registry makes all
// of them at once, including hundreds of versions that no model uses, which takes longer than the
// rest of the work on a small model.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace onnx {
class OpSchema;
}

namespace cleave {

// One version of an operator; CMake finds them in the library's headers.
struct OnnxSchemaEntry {
  std::string_view domain, op;
  int since = 0;
  onnx::OpSchema (*make)() = nullptr;
};
std::span<const OnnxSchemaEntry> onnx_schema_entries();  // in no order

// The operator's newest schema up to that opset; null when there is none.
const onnx::OpSchema* find_onnx_schema(std::string_view domain, std::string_view op,
                                       std::int64_t opset);

}  // namespace cleave
