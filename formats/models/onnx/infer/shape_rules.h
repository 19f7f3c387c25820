// Cleave's own rules for types and shapes: for operators that the ONNX library does not know, knows
// only in an older version, or gives no rank although it can be inferred; and for those that models
// have most of, to save the library's time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/graph/shape.h"
#include "formats/models/onnx/index/type.h"
#include "formats/models/onnx/infer/op_call.h"

namespace cleave {

// Arithmetic on dims. A result that is not certain is unknown.

OnnxDim fixed_dim(std::int64_t size);  // below 0: unknown

// The dim of a type that may be null; unknown when the rank is, or the axis is beyond it.
OnnxDim dim_at(const OnnxType* type, std::size_t axis);

OnnxDim dim_plus(const OnnxDim& dim, std::int64_t more);
OnnxDim dim_times(const OnnxDim& dim, std::int64_t factor);
OnnxDim product_of(const OnnxDim& a, const OnnxDim& b);
OnnxDim sum_of(const OnnxDim& a, const OnnxDim& b);
// Known only if `divisor` divides a fixed dim.
OnnxDim dim_over(const OnnxDim& dim, std::int64_t divisor);

// The dim that two dims broadcast to: with a fixed one above 1, that one. Two fixed ones that
// contradict each other give an unknown dim.
OnnxDim broadcast_dim(const OnnxDim& a, const OnnxDim& b);
std::vector<OnnxDim> broadcast_shape(const std::vector<OnnxDim>& a, const std::vector<OnnxDim>& b);

// False for dims that no tensor can have, since their product overflows.
bool is_possible_shape(const std::vector<OnnxDim>& dims);

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
std::span<const OnnxShapeRuleEntry> onnx_common_rules();
std::span<const OnnxShapeRuleEntry> onnx_elementwise_rules();
std::span<const OnnxShapeRuleEntry> onnx_reshape_rules();
std::span<const OnnxShapeRuleEntry> onnx_resize_rules();
std::span<const OnnxShapeRuleEntry> onnx_window_rules();
std::span<const OnnxShapeRuleEntry> onnx_new_op_rules();
std::span<const OnnxShapeRuleEntry> onnx_ml_rules();
std::span<const OnnxShapeRuleEntry> onnx_microsoft_rules();

}  // namespace cleave
