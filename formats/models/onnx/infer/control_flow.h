// If and Loop, as far as they are decided before the model runs: an If with a known condition has
// the outputs of its branch; a Loop with a known trip count makes that many elements of each value
// it collects.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "formats/models/onnx/infer/element_rules.h"
#include "formats/models/onnx/infer/op_call.h"

namespace cleave {

// The types and elements of a body's inputs or outputs, as far as they are known.
struct OnnxBodyValues {
  std::vector<OnnxType> types;
  OnnxElementList elements;  // as long as `types`, or empty: none known
};

using OnnxBodyRun =
    std::function<OnnxBodyValues(const OnnxGraph& body, const OnnxBodyValues& inputs)>;

// The branch that a call of If takes; null when its condition is unknown, or the call is not an If.
const OnnxGraph* taken_branch(const OnnxOpCall& call);

// How often the body of a Loop runs while its condition stays true; nullopt when unknown.
std::optional<std::int64_t> loop_trip_count(const OnnxOpCall& call);

// Sets call.outputs and call.output_elements. False: not applicable, ask the schema. The body of a
// Loop is run a few times, until the types of the values it carries stay the same.
bool infer_control_flow(OnnxOpCall& call, const OnnxBodyRun& run);

}  // namespace cleave
