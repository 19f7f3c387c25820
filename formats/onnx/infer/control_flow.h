// If and Loop, as far as what is known before the model runs decides what they do: an If whose
// condition is known has the outputs of its branch, a Loop whose trip count is known the length of
// what it collects.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "formats/onnx/infer/element_rules.h"
#include "formats/onnx/infer/op_call.h"

namespace cleave {

// What is known of a body's inputs, or of its outputs.
struct OnnxBodyValues {
  std::vector<OnnxType> types;
  OnnxElementList elements;  // as long as `types`, or empty: none are known
};

using OnnxBodyRun =
    std::function<OnnxBodyValues(const OnnxGraph& body, const OnnxBodyValues& inputs)>;

// The branch that a call of If takes; null where its condition is not known, or the call is none.
const OnnxGraph* taken_branch(const OnnxOpCall& call);

// How often the body of a Loop runs, if its condition stays true: nothing where that is not known.
std::optional<std::int64_t> loop_trip_count(const OnnxOpCall& call);

// Fills call.outputs and call.output_elements. False: it does not apply, the schema is to be asked. A body of
// Loop is run a few times, until the types of what it carries stay the same.
bool infer_control_flow(OnnxOpCall& call, const OnnxBodyRun& run);

}  // namespace cleave
