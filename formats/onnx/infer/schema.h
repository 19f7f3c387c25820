// The border to the ONNX library: types of a node's outputs by the type and shape inference
// function of its operator's schema, one node at a time. Slow on first use: the library sets up its
// registry.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "formats/onnx/infer/op_call.h"

namespace cleave {

// Types of the outputs of a body of the node, given the types of what the node feeds its inputs.
using OnnxBodyInference = std::function<std::vector<OnnxType>(const OnnxGraph& body,
                                                              const std::vector<OnnxType>& inputs)>;

struct OnnxSchemaAnswer {
  enum class Outcome { inferred, no_schema, failed };
  Outcome outcome;
  std::string why;  // failed: in the library's words
};

// Fills call.outputs as far as the library can tell. It knows opsets up to 17; for a later one its
// newest answer is given, which the caller overrides where an operator has changed.
OnnxSchemaAnswer infer_by_schema(OnnxOpCall& call, const OnnxBodyInference& infer_body);

}  // namespace cleave
