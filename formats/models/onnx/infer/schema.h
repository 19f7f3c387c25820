// The ONNX library's schemas of operators: what they infer about a node, and the defaults of attributes.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/support/support.h"
#include "formats/models/onnx/infer/op_call.h"

namespace onnx {
class OpSchema;
}

namespace cleave {

// Schemas of the ONNX library, each made when first asked for. The library's own registry makes all
// of them at once, including hundreds of versions that no model uses, which takes longer than the
// rest of the work on a small model.

// One version of an operator; CMake finds them in the library's headers.
struct OnnxSchemaEntry {
  std::string_view domain, op;
  int since = 0;
  int number = 0;  // in the headers

  constexpr auto operator<=>(const OnnxSchemaEntry&) const = default;
};
std::span<const OnnxSchemaEntry> onnx_schema_entries();  // ascending
onnx::OpSchema make_onnx_schema(const OnnxSchemaEntry& entry);

// The operator's newest schema up to that opset; null when there is none.
const onnx::OpSchema* find_onnx_schema(std::string_view domain, std::string_view op,
                                       std::int64_t opset);

// Assumptions that the inference functions of the ONNX library make about a node. If one is
// violated, they read beyond dims and inputs, or do not end. The assumptions were found by calling
// every operator with types and attributes that do not fit, under sanitizers.

// Why the schema's function must not be called for the node; empty: it may be.
std::string fault_before_schema(const OnnxOpCall& call, const onnx::OpSchema& schema);

// Types of the outputs of one of the node's bodies, given the types of the body's inputs.
using OnnxBodyInference = std::function<std::vector<OnnxType>(const OnnxGraph& body,
                                                              const std::vector<OnnxType>& inputs)>;

struct OnnxSchemaAnswer {
  enum class Outcome { inferred, no_schema, failed };
  Outcome outcome;
  std::string why;  // failed: in the library's words
};

// Sets call.outputs as far as the library can. It knows opsets up to 17; for a later one it uses
// its newest, and the caller overrides the result if the operator has changed.
OnnxSchemaAnswer infer_by_schema(OnnxOpCall& call, const OnnxBodyInference& infer_body);

// Facts from ONNX's schema registry about operators, for support rules.

// Defaults of attributes and versions of schemas.
OpFacts onnx_op_facts();

}  // namespace cleave
