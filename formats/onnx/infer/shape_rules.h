// Cleave's own rules for types and shapes: where the ONNX library at hand knows an operator not at
// all, knows an older meaning of it, or gives up a rank that can be told.
#pragma once

#include <span>
#include <string_view>

#include "formats/onnx/infer/op_call.h"

namespace cleave {

// Fills call.outputs as far as can be told. False: it does not apply, the schema is to be asked.
using OnnxShapeRule = bool (*)(OnnxOpCall& call);

struct OnnxShapeRuleEntry {
  std::string_view domain;  // "": the default one
  std::string_view op;
  OnnxShapeRule rule;
};

// By the rule for the call's operator, if there is one and it applies.
bool infer_by_rule(OnnxOpCall& call);

// After schema and rule have given no rank: the weakest that is sure.
void add_weakest_rank(OnnxOpCall& call);

// The rules by subject.
std::span<const OnnxShapeRuleEntry> onnx_elementwise_rules();
std::span<const OnnxShapeRuleEntry> onnx_reshape_rules();
std::span<const OnnxShapeRuleEntry> onnx_resize_rules();
std::span<const OnnxShapeRuleEntry> onnx_window_rules();
std::span<const OnnxShapeRuleEntry> onnx_new_op_rules();
std::span<const OnnxShapeRuleEntry> onnx_ml_rules();
std::span<const OnnxShapeRuleEntry> onnx_microsoft_rules();

}  // namespace cleave
