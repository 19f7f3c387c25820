// Cleave's own rules for types and shapes: for operators that the ONNX library does not know, knows
// only in an older version, or gives no rank although it can be inferred.
#pragma once

#include <span>
#include <string_view>

#include "formats/models/onnx/infer/op_call.h"

namespace cleave {

// Sets call.outputs as far as possible. False: not applicable, ask the schema.
using OnnxShapeRule = bool (*)(OnnxOpCall& call);

struct OnnxShapeRuleEntry {
  std::string_view domain;  // "": the default one
  std::string_view op;
  OnnxShapeRule rule;
};

// Applies the rule for the call's operator. False when there is none or it does not apply.
bool infer_by_rule(OnnxOpCall& call);

// When schema and rule gave no rank: sets the rank alone, if it is certain.
void add_weakest_rank(OnnxOpCall& call);

// Output 0 has the type of input 0; false when that is unknown.
bool same_as_first(OnnxOpCall& call);

// The rules by subject.
std::span<const OnnxShapeRuleEntry> onnx_elementwise_rules();
std::span<const OnnxShapeRuleEntry> onnx_reshape_rules();
std::span<const OnnxShapeRuleEntry> onnx_resize_rules();
std::span<const OnnxShapeRuleEntry> onnx_window_rules();
std::span<const OnnxShapeRuleEntry> onnx_new_op_rules();
std::span<const OnnxShapeRuleEntry> onnx_ml_rules();
std::span<const OnnxShapeRuleEntry> onnx_microsoft_rules();

}  // namespace cleave
