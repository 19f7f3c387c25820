// The interface to the ONNX library: infers types of a node's outputs with the inference function
// of its operator's schema, one node at a time.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "formats/models/onnx/infer/op_call.h"

namespace cleave {

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

}  // namespace cleave
